"""What the ticks of one second take of the sources whose files can be parsed later.

Each tick finds the processor's caches cold, so it goes through one flat list of calls and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ingest.reader import FAULTS, Fault, Reader
from ingest.source import Source


class Captures:
    """`take` at each tick, `settle` for all of them at once. A source joins or leaves only in between, or as it fails."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.others: list[Source] = []
        """The sources that must be polled at each tick for now."""
        self.busy = False
        """Whether something is being taken."""
        self._sources = sources
        self._captured: list[tuple[Source, Reader]] = []
        self._takes: Sequence[Callable[[], None]] = ()
        self._ticks = 0

    def renew(self) -> None:
        """Find out which sources can be captured; what was taken and not settled is lost."""
        self._ticks = 0
        found = [(one, one.captured) for one in self._sources]
        self.others = [one for one, reader in found if reader is None and not one.resting]
        self._capture([(one, reader) for one, reader in found if reader is not None])

    def take(self) -> None:
        """Take what all sources are to give for this tick; one that fails is left to `poll` until the second is over."""
        takes = self._takes
        self.busy = True
        while takes:
            try:
                for take in takes:
                    take()
                takes = ()
            except FAULTS as error:
                takes = self._drop(error)
        self.busy = False
        self._ticks += 1

    def settle(self, values: NDArray[np.float32], begun_ns: int) -> list[Source]:
        """Fill in all that was taken: values, float32[ticks, columns]; the last tick began at `begun_ns`. The sources, parsed."""
        for source, reader in self._captured:
            taken_ns = reader.captured[-1]
            values[:, source.place] = source.settle(reader, taken_ns - begun_ns)
            begun_ns = taken_ns
        parsed = [source for source, _ in self._captured]
        self.renew()
        return parsed

    def _drop(self, error: Fault) -> list[Callable[[], None]]:
        """Leave out the source that failed; what is to be taken of those after it.

        A watchdog may ring when all is taken: then none did.
        """
        behind = [one for one in self._captured if len(one[1].captured) <= self._ticks]
        if not behind:
            return []
        (source, reader), *rest = behind
        source.fail(reader, error)
        self.others.append(source)
        self._capture([one for one in self._captured if one[0] is not source])
        return [take for _, reader in rest for take in reader.takes]

    def _capture(self, captured: list[tuple[Source, Reader]]) -> None:
        self._captured = captured
        self._takes = [take for _, reader in captured for take in reader.takes]
