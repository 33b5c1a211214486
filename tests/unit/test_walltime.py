"""Time stamps under a wall clock that is set."""

from __future__ import annotations

from hostsight.clock import SECOND_NS, FakeClock
from ingest.walltime import WallTime

MS = 1_000_000


def test_follows_the_wall_clock_while_nobody_sets_it(clock: FakeClock) -> None:
    wall = WallTime(clock)
    clock.advance(10)
    assert wall.follow() == 0
    assert wall.at(clock.monotonic_ns()) == clock.wall_ns()


def test_a_small_difference_is_slewed_by_at_most_a_millisecond_a_tick(clock: FakeClock) -> None:
    wall = WallTime(clock)
    for _ in range(3):
        clock.step_wall(0.0008)
        assert wall.follow() == 0
    assert wall.at(clock.monotonic_ns()) == clock.wall_ns()


def test_a_step_forward_is_told_and_followed_at_once(clock: FakeClock) -> None:
    wall = WallTime(clock)
    clock.step_wall(3600)
    assert wall.follow() == 3600
    assert wall.at(clock.monotonic_ns()) == clock.wall_ns()
    assert wall.follow() == 0


def test_a_step_back_is_told_and_walked_down_a_millisecond_a_tick(clock: FakeClock) -> None:
    wall = WallTime(clock)
    before = wall.at(clock.monotonic_ns())
    clock.step_wall(-0.005)
    assert wall.follow() == -0.005
    assert wall.at(clock.monotonic_ns()) == before - MS
    for _ in range(4):
        assert wall.follow() == 0
    assert wall.at(clock.monotonic_ns()) == clock.wall_ns()


def test_starts_where_an_earlier_run_ended(clock: FakeClock) -> None:
    end = clock.wall_ns() + 30 * SECOND_NS
    assert WallTime(clock, not_before_ns=end).at(clock.monotonic_ns()) == end


def test_an_interruption_between_the_clocks_is_no_step() -> None:
    class Interrupted(FakeClock):
        once = False

        def wall_ns(self) -> int:
            if self.once:
                self.once = False
                self.advance(0.2)
            return super().wall_ns()

    clock = Interrupted()
    wall = WallTime(clock)
    clock.once = True
    assert wall.follow() == 0
