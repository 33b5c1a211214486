"""What a collector is: a module that turns one family of kernel files into raw values.

Adding one is a new file in `ingest/collectors/` and a line in its registry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from hostsight.channel import Kind, Subsystem

Values = NDArray[np.float64]


class Tier(Enum):
    """How often a collector is read: every tick, every `[agent] medium`, every `[agent] slow`.

    The tick itself reads FAST and MEDIUM, as far as they are quick. SLOW is read in another thread (`in_background`).
    """

    FAST = "fast"
    MEDIUM = "medium"
    SLOW = "slow"


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of a collector's metric table; `docs/metrics.md` is generated from these.

    kind `rate`: the collector gives a raw, growing counter; the sampler turns it into units per second, times `scale`.
    Other kinds: the collector gives the value itself, times `scale`.
    `wrap`: the counter's size in bits where it is known to wrap (32), else 0.
    """

    name: str
    unit: str
    kind: Kind
    meaning: str
    scale: float = 1.0
    wrap: int = 0


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a collector's values come from, as `docs/metrics.md` says it.

    `period_seconds`: how often most of it changes; each channel has its own. `needs`: what a host or its owner must give.
    """

    source: str
    period_seconds: float
    needs: str = ""


@dataclass(frozen=True, slots=True)
class Slot:
    """One value that a collector fills at each read: a metric of one device."""

    subsystem: Subsystem
    device: str
    metric: Metric
    period_seconds: float
    source: str


@dataclass(frozen=True, slots=True)
class Host:
    """Where a collector reads: `root / 'proc/stat'`. `live` is False for a captured tree."""

    root: Path
    per_cpu_limit: int = 64
    device_limit: int = 64

    @property
    def live(self) -> bool:
        return self.root == Path("/")

    def path(self, *parts: str) -> Path:
        return self.root.joinpath(*(part.lstrip("/") for part in parts))


class Collector(Protocol):
    """`open` decides the layout; `read` fills it until the hardware changes."""

    name: ClassVar[str]
    tier: ClassVar[Tier]
    metrics: ClassVar[tuple[Metric, ...]]

    def open(self, host: Host) -> Sequence[Slot]:
        """The slots this host has, in the order `read` fills them.

        Raises NoDataError where the host has nothing of this family, any other error where reading it failed.
        """
        ...

    def read(self, out: Values) -> bool:
        """Fill `out` (one float64 a slot; NaN is absent). False asks to be opened again: the hardware changed."""
        ...

    def absent(self) -> Sequence[tuple[str, str, str]]:
        """What this host could have but does not give: (what, reason, the command that would enable it)."""
        ...

    def close(self) -> None: ...


def origin(collector: Collector) -> Origin | None:
    """Where its values come from: the class's `origin`, which a collector of a site may lack."""
    said: Origin | None = getattr(collector, "origin", None)
    return said


def tier_on(collector: Collector, host: Host) -> Tier:
    """The collector's tier on `host`: a class whose cost grows with the host may have a method of this name."""
    decide: Callable[[Host], Tier] | None = getattr(collector, "tier_on", None)
    return decide(host) if decide is not None else collector.tier


class Captured(Protocol):
    """Something that a collector reads, such as a KeptFile: what `capture` notes is what a later reading gives.

    `forget` drops what was captured and never read.
    """

    def capture(self) -> None: ...
    def forget(self) -> None: ...


def captured_by(collector: Collector) -> Sequence[Captured]:
    """All that `read` reads, each once and in any order: a class may have a method `captured` that gives it.

    The agent then takes the contents at each tick and lets `read` parse a second's worth of them at once. That costs
    half: each tick finds the processor's caches cold, and the less it does the better.
    """
    give: Callable[[], Sequence[Captured]] | None = getattr(collector, "captured", None)
    return give() if give is not None else ()


def in_background(collector: Collector) -> bool:
    """Whether a thread apart from the tick opens and reads this collector, so that it may block or take long.

    True for the slow tier, and for a class that says `background = True`. The thread shares the interpreter with the
    tick: work on large text a line at a time, never in one call that takes milliseconds.
    """
    return collector.tier is Tier.SLOW or bool(getattr(collector, "background", False))
