"""hostsight's own cost, so that nobody has to guess what watching costs."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Sequence
from typing import ClassVar

from hostsight.channel import WHOLE_HOST
from ingest.collector import Captured, Host, Metric, Origin, Slot, Tier, Values
from ingest.kept_file import KeptFile
from ingest.meter import Meter

_SOURCE = "hostsight agent"
_DESCRIPTORS = "/proc/self/fd"

LATENESS = Metric("tick_lateness_seconds", "s", "gauge", "time from a tick's deadline to its start")
CLOCK_STEP = Metric(
    "clock_step_seconds", "s", "event", "by how much the wall clock was set; present only when it was"
)


class _Timing:
    """Lateness and clock step of the tick that is being taken, as the meter has them."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self._captured: deque[tuple[float, float]] = deque()

    def capture(self) -> None:
        self._captured.append((self.meter.lateness, self.meter.clock_step))

    def forget(self) -> None:
        self._captured.clear()

    def read(self) -> tuple[float, float]:
        if self._captured:
            return self._captured.popleft()
        return self.meter.lateness, self.meter.clock_step


class TicksCollector:
    """How well the tick keeps time, each tick."""

    name: ClassVar[str] = "ticks"
    origin: ClassVar[Origin] = Origin("the agent itself", 0.0)
    tier: ClassVar[Tier] = Tier.FAST
    metrics: ClassVar[tuple[Metric, ...]] = (LATENESS, CLOCK_STEP)

    def __init__(self) -> None:
        self.meter = Meter()
        self._timing = _Timing(self.meter)

    def open(self, host: Host) -> Sequence[Slot]:
        self._timing = _Timing(self.meter)
        return [Slot("agent", WHOLE_HOST, metric, 0.0, _SOURCE) for metric in self.metrics]

    def read(self, out: Values) -> bool:
        lateness, step = self._timing.read()
        out[0] = lateness
        if step:
            out[1] = step
        return True

    def captured(self) -> Sequence[Captured]:
        return [self._timing]

    def absent(self) -> Sequence[tuple[str, str, str]]:
        return ()

    def close(self) -> None: ...


class AgentCollector:
    """CPU, memory, descriptors, bytes and losses of the agent, and the time that each collector takes."""

    name: ClassVar[str] = "agent"
    origin: ClassVar[Origin] = Origin("the agent itself", 0.0)
    tier: ClassVar[Tier] = Tier.MEDIUM
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("cpu_percent", "%", "rate", "CPU time of the agent, as a share of one CPU", scale=1e-7),
        Metric("rss_bytes", "B", "gauge", "resident memory of the agent"),
        Metric("descriptors", "descriptors", "gauge", "open file descriptors of the agent"),
        Metric("spool_bytes", "B", "gauge", "size of the spool on disk"),
        Metric("late_ticks_per_s", "ticks/s", "rate", "ticks skipped since their time had passed"),
        Metric("lost_values_per_s", "values/s", "rate", "values that could not be stored"),
        Metric("read_seconds", "s", "gauge", "time that the last reading of one collector took"),
    )

    def __init__(self) -> None:
        self.meter = Meter()
        self._statm = KeptFile("/proc/self/statm")
        self._page = os.sysconf("SC_PAGE_SIZE")
        self._devices: tuple[str, ...] = ()

    def open(self, host: Host) -> Sequence[Slot]:
        self._devices = tuple(self.meter.read_ns)
        *whole, read_seconds = self.metrics
        slots = [Slot("agent", WHOLE_HOST, metric, 0.0, _SOURCE) for metric in whole]
        return slots + [Slot("agent", device, read_seconds, 0.0, _SOURCE) for device in self._devices]

    def read(self, out: Values) -> bool:
        meter = self.meter
        out[:6] = (
            time.process_time_ns(),
            int(self._statm.read().split()[1]) * self._page,
            _descriptors(),
            meter.spool_bytes,
            meter.late_ticks,
            meter.lost_values,
        )
        out[6:] = [meter.read_ns.get(device, 0) / 1e9 for device in self._devices]
        return self._devices == tuple(meter.read_ns)

    def absent(self) -> Sequence[tuple[str, str, str]]:
        return ()

    def close(self) -> None:
        self._statm.close()


def _descriptors() -> int:
    """How many are open: the folder's size since Linux 6.2, before which that is 0."""
    status = os.stat(_DESCRIPTORS)  # noqa: PTH116 - a Path costs more than the call
    return status.st_size or len(os.listdir(_DESCRIPTORS))  # noqa: PTH208 - a Path a descriptor
