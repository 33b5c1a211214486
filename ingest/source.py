"""One collector in the sampler: when it is due, how it is read, and where its values go."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ingest.background import BackgroundReader
from ingest.collector import Slot, Values, in_background
from ingest.reader import Reader

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
        self._due_ns = 0
        self._waits = False
        self._begun = False
        self._slow = 0
        self._rows: list[int] = []
        if in_background(reader.collector):
            self.reader = in_thread(reader)

    @property
    def wanted_ns(self) -> int:
        """Until half a tick before then, monotonic, `poll` has nothing to do."""
        return 0 if self._waits else self._due_ns

    @property
    def changed(self) -> bool:
        """Whether the hardware is no longer that of `slots`."""
        return self.slots is not self.reader.slots

    def capture(self, row: int) -> bool:
        """Take what is to be read for this tick, which `settle` then gives as of `row`; False where `poll` must be used.

        Only what is due at each tick is captured. Of a reader that rests there is nothing to take.
        """
        reader = self.reader
        if self._period_ns or isinstance(reader, BackgroundReader):
            return False
        if not reader.captures:
            return reader.resting
        if reader.capture():
            self._rows.append(row)
        else:
            self._rows = []
            self._watch(reader)
        return True

    def settle(self) -> tuple[Sequence[int], Values]:
        """The rows captured since the last call, and their values, float64[rows, slots]."""
        rows, self._rows = self._rows, []
        if not rows or not isinstance(self.reader, Reader):
            return (), np.empty((0, len(self.slots)))
        values = self.reader.settle()
        self._watch(self.reader)
        return rows, values

    def poll(self, now_ns: int) -> Values | None:
        """Values that are new at this tick, float64[slots]; None where there are none."""
        reader = self.reader
        if isinstance(reader, BackgroundReader):
            values = reader.poll(self._is_due(now_ns))
            self._waits = reader.pending
            return values
        if not self._is_due(now_ns):
            return None
        values = reader.step()
        self._watch(reader)
        return values

    def _is_due(self, now_ns: int) -> bool:
        """Half a tick early counts, so that jitter moves no reading to the tick after its own."""
        if not self._begun:
            self._begun, self._due_ns = True, now_ns + self._delay_ns
        soon_ns = now_ns + self._tick_ns // 2
        if soon_ns < self._due_ns:
            return False
        self._due_ns += self._period_ns
        if self._due_ns <= soon_ns:
            self._due_ns = now_ns + self._period_ns
        return True

    def _watch(self, reader: Reader) -> None:
        self._slow = self._slow + 1 if reader.read_ns > SLOW_SHARE * self._tick_ns else 0
        if self._slow >= _PATIENCE or reader.held_up:
            self.reader = self._in_thread(reader)
