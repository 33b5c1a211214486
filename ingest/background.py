"""A reader in a thread of its own, so that a collector that takes long, or never returns, delays no tick."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from queue import Empty, SimpleQueue

import numpy as np

from hostsight.clock import SECOND_NS, Clock
from ingest.collector import Slot, Values
from ingest.reader import Condition, Reader

HUNG_SECONDS = 10.0
"""A reading that takes longer is reported as failed until it returns."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one `Reader.step` left behind."""

    slots: tuple[Slot, ...]
    values: Values | None
    condition: Condition
    read_ns: int


class BackgroundReader:
    """Runs one reader; at most one reading is under way. `poll` never waits."""

    def __init__(self, reader: Reader, clock: Clock) -> None:
        self.collector = reader.collector
        self.slots = reader.slots
        self.read_ns = reader.read_ns
        self._condition = reader.condition
        self._reader = reader
        self._clock = clock
        self._asked_ns: int | None = None
        self._requests: SimpleQueue[bool] = SimpleQueue()
        self._readings: SimpleQueue[Reading] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=reader.collector.name, daemon=True)
        self._thread.start()

    @property
    def condition(self) -> Condition:
        if self._asked_ns is not None:
            seconds = (self._clock.monotonic_ns() - self._asked_ns) / SECOND_NS
            if seconds > HUNG_SECONDS:
                return Condition("failed", error=f"has not returned for {seconds:.0f} s")
        return self._condition

    @property
    def pending(self) -> bool:
        """Whether a reading was asked for and has not been taken."""
        return self._asked_ns is not None

    def poll(self, due: bool) -> Values | None:
        """Take the reading that has finished since the last call, if any; ask for one if `due` and it may give any."""
        values = self._take() if self._asked_ns is not None else None
        if due and self._asked_ns is None and not self._reader.resting:
            self._asked_ns = self._clock.monotonic_ns()
            self._requests.put(True)
        return values

    def wait(self, seconds: float) -> Values | None:
        """Take the reading under way once it has finished; None where it has not within `seconds`."""
        return self._take(seconds) if self._asked_ns is not None else None

    def close(self, seconds: float = 0.2) -> None:
        """End the thread; one that never returns is left behind and ends with the process."""
        self._requests.put(False)
        self._thread.join(seconds)

    def _take(self, seconds: float = 0.0) -> Values | None:
        try:
            reading = self._readings.get(block=seconds > 0, timeout=seconds)
        except Empty:
            return None
        self._asked_ns = None
        self.slots = reading.slots
        self._condition = reading.condition
        self.read_ns = reading.read_ns
        return reading.values

    def _work(self) -> None:
        reader = self._reader
        while self._requests.get():
            with np.errstate(invalid="ignore", over="ignore"):
                values = reader.step()
            self._readings.put(Reading(reader.slots, values, reader.condition, reader.read_ns))
        reader.close()
