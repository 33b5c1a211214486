"""One collector in the sampler: when it is due, how it is read, and where its values go."""

from __future__ import annotations

from collections.abc import Callable

from ingest.background import BackgroundReader
from ingest.collector import Slot, Values, in_background
from ingest.reader import Fault, Reader

SLOW_SHARE = 0.25
"""A collector whose reading takes more than this share of a tick, three times in a row, moves to the background; so does
one that a watchdog had to interrupt."""

_PATIENCE = 3


class Source:
    """One collector of the sampler. `slots` is its part of the layout, `place` where that stands."""

    def __init__(
        self,
        reader: Reader,
        period_ns: int,
        delay_ns: int,
        tick_ns: int,
        in_thread: Callable[[Reader], BackgroundReader],
    ) -> None:
        self.collector = reader.collector
        self.tier = reader.tier
        self.slots: tuple[Slot, ...] = ()
        self.place = slice(0, 0)
        self.reader: Reader | BackgroundReader = reader
        self._in_thread = in_thread
        self._period_ns = period_ns
        self._delay_ns = delay_ns
        self._tick_ns = tick_ns
        self.due_ns = 0
        """Until half a tick before then, wall time, nothing is to be read; 0 of what each tick reads."""
        self._slow = 0
        if in_background(reader.collector):
            self.reader = in_thread(reader)

    @property
    def done_ns(self) -> int:
        """Since when a thread had what `poll` gave, monotonic; 0 of what `poll` itself read."""
        return self.reader.done_ns if isinstance(self.reader, BackgroundReader) else 0

    @property
    def changed(self) -> bool:
        """Whether the hardware is no longer that of `slots`."""
        return self.slots is not self.reader.slots

    @property
    def captured(self) -> Reader | None:
        """The reader, where captures at each tick may take the place of `poll`: only what is due at each is captured."""
        reader = self.reader
        return reader if not self._period_ns and isinstance(reader, Reader) and reader.takes else None

    @property
    def resting(self) -> bool:
        """Whether `poll` gives nothing for now."""
        return isinstance(self.reader, Reader) and self.reader.resting

    def settle(self, reader: Reader, took_ns: int) -> Values:
        """Values of all that `captured` has taken since the last call, float64[captures, slots]; the last take took so long."""
        values = reader.settle()
        reader.read_ns += took_ns
        self._watch(reader)
        return values

    def fail(self, reader: Reader, error: Fault) -> None:
        """A take of `captured` has raised."""
        reader.fail(error)
        self._watch(reader)

    def poll(self, wall_ns: int) -> Values | None:
        """Values that are new since the last call, float64[slots]; None where there are none."""
        reader = self.reader
        if isinstance(reader, BackgroundReader):
            return reader.poll(self._is_due(wall_ns))
        if not self._is_due(wall_ns):
            return None
        values = reader.step()
        self._watch(reader)
        return values

    def _is_due(self, wall_ns: int) -> bool:
        """On whole multiples of the period, plus the delay, in wall time; half a tick early counts, as jitter may be.

        A second that is over is parsed then, too, and what one finds in the processor's caches helps the other.
        """
        if not self._period_ns:
            return True
        half_ns = self._tick_ns // 2
        soon_ns = wall_ns + half_ns
        if not self.due_ns:
            self.due_ns = wall_ns - half_ns + (self._delay_ns - wall_ns + half_ns) % self._period_ns
        if soon_ns < self.due_ns:
            return False
        self.due_ns = soon_ns - (soon_ns - self._delay_ns) % self._period_ns + self._period_ns
        return True

    def _watch(self, reader: Reader) -> None:
        self._slow = self._slow + 1 if reader.read_ns > SLOW_SHARE * self._tick_ns else 0
        if self._slow >= _PATIENCE or reader.held_up:
            self.reader = self._in_thread(reader)
