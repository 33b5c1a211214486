"""What the agent knows about itself: kept by the sampler and the recorder, read by the `agent` collectors."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from ingest.schedule import Instant

_REMEMBERED = 1024


@dataclass(slots=True)
class Meter:
    """Counts since the agent started. Seconds, bytes, values."""

    ticks: int = 0
    late_ticks: int = 0
    lost_values: int = 0
    spool_bytes: int = 0
    spool_dropped_segments: int = 0
    lateness: float = 0.0
    clock_step: float = 0.0
    latenesses: deque[float] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    read_ns: dict[str, int] = field(default_factory=dict)
    """By collector: how long its last reading took."""

    def tick(self, instant: Instant) -> None:
        self.ticks += 1
        self.late_ticks += instant.skipped
        self.lateness = instant.lateness
        self.clock_step = instant.clock_step
        self.latenesses.append(instant.lateness)

    def lateness_p99(self) -> float:
        """Seconds, over the last 1,024 ticks; 0 before the first."""
        ordered = sorted(self.latenesses)
        return ordered[(len(ordered) * 99) // 100] if ordered else 0.0
