"""A reader in another thread, so that a collector that takes long, or never returns, delays no tick."""

from __future__ import annotations

from dataclasses import dataclass
from queue import Empty, SimpleQueue

from hostsight.clock import SECOND_NS, Clock
from ingest.collector import Slot, Values
from ingest.crew import WAIT_SECONDS, Crew
from ingest.reader import Condition, Reader

HUNG_SECONDS = 10.0
"""A reading that takes longer is reported as failed until it returns."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one `Reader.step` left behind. done_ns: when, monotonic."""

    slots: tuple[Slot, ...]
    values: Values | None
    condition: Condition
    read_ns: int
    done_ns: int


class BackgroundReader:
    """Has `crew`, or one of its own, run one reader; at most one reading is under way. `poll` never waits.

    What is asked of a shared crew begins once that is told to.
    """

    def __init__(self, reader: Reader, clock: Clock, crew: Crew | None = None) -> None:
        self.collector = reader.collector
        self.slots = reader.slots
        self.read_ns = reader.read_ns
        self.done_ns = 0
        """When the reading was done that was taken last, monotonic."""
        self._condition = reader.condition
        self._reader = reader
        self._clock = clock
        self._own_crew = crew is None
        self._crew = crew or Crew(clock)
        self._asked_ns: int | None = None
        self._begun = False
        self._readings: SimpleQueue[Reading] = SimpleQueue()

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
            self._begun, self._asked_ns = False, self._clock.monotonic_ns()
            self._crew.ask(self._work)
            if self._own_crew:
                self._crew.begin()
        return values

    def wait(self, seconds: float) -> Values | None:
        """Take the reading under way once it has finished; None where it has not within `seconds`."""
        self._crew.begin()
        values = None
        while self._asked_ns is not None and seconds >= 0:
            values = self._take(min(seconds, WAIT_SECONDS))
            seconds -= WAIT_SECONDS
        return values

    def close(self, seconds: float = 0.2) -> None:
        """Close the reader; one that does not return within `seconds` is left behind and ends with the process."""
        self.wait(seconds)
        if self._asked_ns is None:
            self._reader.close()
        if self._own_crew:
            self._crew.close()

    def _take(self, seconds: float = 0.0) -> Values | None:
        try:
            reading = self._readings.get(block=seconds > 0, timeout=seconds)
        except Empty:
            if not self._begun and self._asked_ns is not None:
                self._crew.help(self._asked_ns)
            return None
        self._asked_ns = None
        self.slots = reading.slots
        self._condition = reading.condition
        self.read_ns = reading.read_ns
        self.done_ns = reading.done_ns
        return reading.values

    def _work(self) -> None:
        self._begun = True
        reader = self._reader
        values = reader.step()
        done_ns = self._clock.monotonic_ns()
        self._readings.put(Reading(reader.slots, values, reader.condition, reader.read_ns, done_ns))
