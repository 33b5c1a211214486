"""Events of many CPUs, counted in groups: one system call reads a group of one CPU.

Where a processor has fewer counters than are asked for, the kernel lets groups take turns and says how long each was
enabled and how long it ran; what ran is taken for the whole. Where descriptors are short, CPUs take turns.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ingest.collector import Values
from ingest.perf.calls import PerfCalls
from ingest.perf.event import Event

Plan = tuple[tuple[int, ...], ...]
"""Groups of places in a list of events."""

SHORTEST_NS = 10_000_000
"""A group enabled for less since its last reading tells too little; it is read again later."""

PATIENCE = 3
"""A group that never ran in so many readings does not fit into the counters: its events are counted one by one."""

_NO_SUCH_EVENT = {errno.ENOENT, errno.EOPNOTSUPP, errno.EINVAL, errno.EIO}
_DOES_NOT_FIT = {errno.EINVAL, errno.ENOSPC}
_NO_ROOM = {errno.EMFILE, errno.ENFILE}
_LEFT_FREE = 2
_HEADER = 3
_ALONE = -1


@dataclass(frozen=True, slots=True)
class _Reading:
    enabled_ns: int
    running_ns: int
    counts: tuple[int, ...]


class _Group:
    """Open descriptors of one group on one CPU; `members` are places in the list of events."""

    __slots__ = ("_before", "_calls", "_format", "fds", "idle_readings", "members")

    def __init__(self, calls: PerfCalls, fds: Sequence[int], members: Sequence[int]) -> None:
        self._calls = calls
        self._format = struct.Struct(f"={_HEADER + len(fds)}Q")
        self._before = _Reading(0, 0, (0,) * len(fds))
        self.fds = tuple(fds)
        self.members = tuple(members)
        self.idle_readings = 0
        """Successive readings in which it was enabled and did not run."""

    def rates(self) -> list[float] | None:
        """Events per second since the last reading that gave any; None where it has not run, or not long enough."""
        now, before = self._read(), self._before
        ran = now.running_ns - before.running_ns
        if now.enabled_ns - before.enabled_ns < SHORTEST_NS:
            return None
        self.idle_readings = self.idle_readings + 1 if ran <= 0 else 0
        if ran <= 0:
            return None
        self._before = now
        return [1e9 * (count - last) / ran for count, last in zip(now.counts, before.counts, strict=True)]

    def close(self) -> None:
        for fd in reversed(self.fds):
            self._calls.close(fd)

    def _read(self) -> _Reading:
        content = self._calls.read(self.fds[0], self._format.size)
        if len(content) != self._format.size:
            return self._before
        _, enabled, running, *counts = self._format.unpack(content)
        return _Reading(enabled, running, tuple(counts))


class CpuCounters:
    """Counts `events` on `cpus`, on as many of them at once as `room` descriptors allow.

    `open` raises OSError where nothing can be counted; after it, `missing` says why an event cannot be.
    """

    def __init__(
        self, calls: PerfCalls, events: Sequence[Event], plan: Plan, cpus: Sequence[int], room: int
    ) -> None:
        self._calls = calls
        self._events = tuple(events)
        self._plan = plan
        self._room = room
        self._groups: dict[int, list[_Group]] = {}
        self._next = 0
        self.cpus = tuple(cpus)
        self.at_once = len(self.cpus)
        """CPUs counted at the same time."""
        self.split = False
        """Whether events are counted one by one, as groups did not fit."""
        self.missing: dict[int, OSError] = {}

    @property
    def turns(self) -> bool:
        return self.at_once < len(self.cpus)

    def open(self) -> None:
        self.missing = {}
        first = self._open_cpu(self.cpus[0], self.missing)
        descriptors = sum(len(group.fds) for group in first)
        _close(first)
        if not descriptors:
            raise next(iter(self.missing.values()), OSError(errno.ENODEV, f"CPU {self.cpus[0]} is offline"))
        self._plan = tuple(group.members for group in first)
        self.at_once = max(1, min(len(self.cpus), self._room // descriptors))
        self._open_turn()

    def read(self) -> tuple[list[int], Values]:
        """The columns read this time, and all events per second, float64[events, cpus]; NaN where none was counted.

        CPUs that take turns are counted from one reading to the next; then others are.
        """
        rates = np.full((len(self._events), len(self.cpus)), np.nan)
        for column, groups in self._groups.items():
            for group in groups:
                found = group.rates()
                if found is not None:
                    rates[list(group.members), column] = found
        columns = [*self._groups]
        if self._starved():
            self._split()
        elif self.turns:
            self._close_all()
            self._open_turn()
        return columns, rates

    def close(self) -> None:
        self._close_all()
        self._next = 0

    def _open_turn(self) -> None:
        """Open the next CPUs in turn; fewer than hoped for where the process runs out of descriptors."""
        for _ in range(self.at_once):
            column, self._next = self._next, (self._next + 1) % len(self.cpus)
            try:
                groups = self._open_cpu(self.cpus[column], {})
            except OSError as error:
                if error.errno not in _NO_ROOM or not self._groups:
                    raise
                return self._make_do(column)
            if groups:
                self._groups[column] = groups
        return None

    def _make_do(self, column: int) -> None:
        """Go on with the CPUs that are open, less a few, so that the rest of the process can open files."""
        given_up = [*self._groups][max(1, len(self._groups) - _LEFT_FREE) :]
        for each in given_up:
            _close(self._groups.pop(each))
        self._next, self.at_once = next(iter(given_up), column), len(self._groups)

    def _open_cpu(self, cpu: int, missing: dict[int, OSError]) -> list[_Group]:
        """Groups of one CPU. Events that it does not have go into `missing`; a CPU that is offline has none."""
        groups: list[_Group] = []
        waiting = [list(members) for members in self._plan]
        try:
            while waiting:
                fds, members, rest = self._open_group(cpu, waiting.pop(0), missing)
                if fds:
                    groups.append(_Group(self._calls, fds, members))
                if rest:
                    waiting.insert(0, rest)
        except OSError as error:
            _close(groups)
            if error.errno == errno.ENODEV:
                return []
            raise
        return groups

    def _open_group(
        self, cpu: int, members: Iterable[int], missing: dict[int, OSError]
    ) -> tuple[list[int], list[int], list[int]]:
        """Descriptors, events in the group, and events that did not fit in and need one of their own."""
        fds: list[int] = []
        inside: list[int] = []
        rest: list[int] = []
        for place in members:
            try:
                fds.append(self._calls.open(self._events[place], cpu, fds[0] if fds else _ALONE))
                inside.append(place)
            except OSError as error:
                if fds and error.errno in _DOES_NOT_FIT:
                    rest.append(place)
                elif error.errno in _NO_SUCH_EVENT:
                    missing[place] = error
                else:
                    for fd in fds:
                        self._calls.close(fd)
                    raise
        return fds, inside, rest

    def _starved(self) -> bool:
        return not self.split and any(
            group.idle_readings >= PATIENCE and len(group.members) > 1
            for groups in self._groups.values()
            for group in groups
        )

    def _split(self) -> None:
        self._close_all()
        self.split = True
        self._plan = tuple((place,) for members in self._plan for place in members)
        self._next = 0
        self._open_turn()

    def _close_all(self) -> None:
        for groups in self._groups.values():
            _close(groups)
        self._groups = {}


def _close(groups: Iterable[_Group]) -> None:
    for group in groups:
        group.close()
