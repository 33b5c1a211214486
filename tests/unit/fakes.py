"""A collector that does what a test tells it to."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import ClassVar

from hostsight.channel import Kind
from ingest.collector import Host, Metric, Slot, Tier, Values

METRICS: dict[Kind, Metric] = {
    "rate": Metric("events_per_s", "1/s", "rate", "events"),
    "gauge": Metric("level", "1", "gauge", "level"),
}


def slot(device: str = "host", kind: Kind = "gauge") -> Slot:
    return Slot("cpu", device, METRICS[kind], 0.01, "/proc/test")


class FakeCollector:
    """Lists `slots` and reads `values`; an exception in either's place is raised."""

    name: ClassVar[str] = "fake"
    tier: ClassVar[Tier] = Tier.FAST
    metrics: ClassVar[tuple[Metric, ...]] = tuple(METRICS.values())

    def __init__(
        self, slots: Sequence[Slot] | Exception = (), values: Sequence[float] | Exception = ()
    ) -> None:
        self.slots = slots
        self.values = values
        self.same: object = True
        self.opened = 0
        self.reads = 0
        self.closed = 0

    def open(self, host: Host) -> Sequence[Slot]:
        self.opened += 1
        if isinstance(self.slots, Exception):
            raise self.slots
        return self.slots

    def read(self, out: Values) -> bool:
        self.reads += 1
        if isinstance(self.values, Exception):
            raise self.values
        same, self.same = self.same, True
        if same is True:
            out[:] = self.values
        return same  # type: ignore[return-value]  # a test may have it give the wrong type

    def absent(self) -> Sequence[tuple[str, str, str]]:
        return ()

    def close(self) -> None:
        self.closed += 1


class MediumCollector(FakeCollector):
    name: ClassVar[str] = "medium"
    tier: ClassVar[Tier] = Tier.MEDIUM


class SlowCollector(FakeCollector):
    """Read in the background; waits for `gate` first, and says when it has begun."""

    name: ClassVar[str] = "slow"
    tier: ClassVar[Tier] = Tier.SLOW

    def __init__(self, slots: Sequence[Slot] = (), values: Sequence[float] | Exception = ()) -> None:
        super().__init__(slots, values)
        self.gate = threading.Event()
        self.gate.set()
        self.begun = threading.Event()

    def read(self, out: Values) -> bool:
        self.begun.set()
        self.gate.wait(20)
        return super().read(out)
