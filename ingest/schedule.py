"""When to tick: absolute deadlines on whole multiples of the tick in wall time, so that every second holds as many."""

from __future__ import annotations

from typing import NamedTuple

from hostsight.clock import SECOND_NS, Clock
from ingest.walltime import WallTime


class Instant(NamedTuple):
    """One sampling instant.

    `dt`: seconds since the one before, by the monotonic clock. `lateness`: seconds after its deadline. `skipped`:
    deadlines left out since they had passed, or would have come within half a tick. `clock_step`: seconds by which the
    wall clock was set since the instant before, else 0.
    """

    monotonic_ns: int
    wall_ns: int
    dt: float
    lateness: float
    skipped: int
    clock_step: float


class Schedule:
    """Gives one instant after another. A late tick is taken at once; those it ran over are skipped, never queued."""

    def __init__(self, clock: Clock, tick_ns: int, *, not_before_ns: int = 0) -> None:
        self._clock = clock
        self._tick_ns = tick_ns
        self._wall = WallTime(clock, not_before_ns=not_before_ns)
        self._last_ns: int | None = None
        self._last_wall_ns = not_before_ns
        self._deadline = self._after(self._wall.at(clock.monotonic_ns()))

    def wait(self) -> Instant:
        """Sleep until the next deadline."""
        step = self._wall.follow()
        now = self._clock.monotonic_ns()
        skipped = self._skip(self._wall.at(now), stepped=step > 0)
        due = self._wall.monotonic(self._deadline)
        while now < due:
            self._clock.sleep((due - now) / SECOND_NS)
            now = self._clock.monotonic_ns()
        wall = max(self._wall.at(now), self._last_wall_ns + 1)
        dt = (now - self._last_ns if self._last_ns is not None else self._tick_ns) / SECOND_NS
        self._last_ns, self._last_wall_ns = now, wall
        following = self._after(wall)
        skipped += (following - self._deadline) // self._tick_ns - 1
        self._deadline = following
        return Instant(now, wall, dt, (now - due) / SECOND_NS, skipped, step)

    def pace(self, tick_ns: int) -> None:
        """From now on tick so often."""
        if tick_ns != self._tick_ns:
            self._tick_ns = tick_ns
            self._deadline = self._after(self._last_wall_ns)

    def _skip(self, wall_ns: int, *, stepped: bool) -> int:
        """Leave out the deadlines that have passed by more than half a tick; how many there were."""
        overdue = wall_ns - self._deadline
        if stepped:
            self._deadline = self._after(wall_ns)
        elif overdue > self._tick_ns // 2:
            skipped = (overdue + self._tick_ns // 2) // self._tick_ns
            self._deadline += skipped * self._tick_ns
            return skipped
        return 0

    def _after(self, wall_ns: int) -> int:
        """The first deadline at least half a tick after `wall_ns`."""
        return -(-(wall_ns + self._tick_ns // 2) // self._tick_ns) * self._tick_ns
