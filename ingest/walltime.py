"""Time stamps that never go back: the monotonic clock plus an offset that follows the wall clock gently."""

from __future__ import annotations

from hostsight.clock import SECOND_NS, Clock

SLEW_NS = 1_000_000
"""The offset moves by at most so much a tick."""

_TRIES = 4
_ATOMIC_NS = 20_000


class WallTime:
    """Wall time as `monotonic + offset`.

    A step of the wall clock of more than SLEW_NS is reported by `follow`. A step forward is followed at once. After a
    step back stamps go on from where they are and come back to the wall clock by SLEW_NS a tick, since no two samples
    may carry the same time. `not_before_ns` is where an earlier run's stamps ended.
    """

    def __init__(self, clock: Clock, *, not_before_ns: int = 0) -> None:
        self._clock = clock
        self._measured = self._measure()
        self._offset = max(self._measured, not_before_ns - clock.monotonic_ns())

    def at(self, monotonic_ns: int) -> int:
        """The wall time of a monotonic instant, nanoseconds since the epoch."""
        return monotonic_ns + self._offset

    def monotonic(self, wall_ns: int) -> int:
        return wall_ns - self._offset

    def follow(self) -> float:
        """Call once a tick; the seconds by which the wall clock was stepped since the last call, else 0."""
        measured = self._measure()
        step = measured - self._measured
        self._measured = measured
        behind = measured - self._offset
        stepped = abs(step) > SLEW_NS
        if stepped and behind > SLEW_NS:
            self._offset = measured
        else:
            self._offset += max(-SLEW_NS, min(SLEW_NS, behind))
        return step / SECOND_NS if stepped else 0.0

    def _measure(self) -> int:
        """Wall minus monotonic; read again where something came between the two clocks."""
        best_gap, best = None, 0
        for _ in range(_TRIES):
            before = self._clock.monotonic_ns()
            wall = self._clock.wall_ns()
            after = self._clock.monotonic_ns()
            gap = after - before
            if best_gap is None or gap < best_gap:
                best_gap, best = gap, wall - (before + after) // 2
            if gap <= _ATOMIC_NS:
                break
        return best
