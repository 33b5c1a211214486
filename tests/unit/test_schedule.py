"""When the sampler ticks."""

from __future__ import annotations

from hostsight.clock import SECOND_NS, FakeClock
from ingest.schedule import Schedule

TICK = SECOND_NS // 10
START = 1_700_000_000 * SECOND_NS


def test_ticks_fall_on_whole_multiples_of_the_tick() -> None:
    clock = FakeClock(START + 37_000_000, 5)
    schedule = Schedule(clock, TICK)
    stamps = [schedule.wait().wall_ns for _ in range(4)]
    assert stamps == [START + TICK, START + 2 * TICK, START + 3 * TICK, START + 4 * TICK]


def test_work_between_ticks_does_not_shift_them(clock: FakeClock) -> None:
    schedule = Schedule(clock, TICK)
    first = schedule.wait()
    clock.advance(0.03)
    second = schedule.wait()
    assert second.wall_ns - first.wall_ns == TICK
    assert (second.dt, second.lateness, second.skipped) == (0.1, 0, 0)


def test_a_tick_a_little_late_is_taken_at_once(clock: FakeClock) -> None:
    schedule = Schedule(clock, TICK)
    first = schedule.wait()
    clock.advance(0.13)
    late = schedule.wait()
    assert late.wall_ns - first.wall_ns == 130_000_000
    assert (late.dt, late.lateness, late.skipped) == (0.13, 0.03, 0)
    assert schedule.wait().wall_ns - first.wall_ns == 2 * TICK


def test_ticks_that_have_passed_are_skipped_and_counted_never_queued(clock: FakeClock) -> None:
    schedule = Schedule(clock, TICK)
    first = schedule.wait()
    clock.advance(0.57)
    late = schedule.wait()
    assert late.wall_ns - first.wall_ns == 6 * TICK
    assert late.skipped == 5
    assert schedule.wait().skipped == 0


def test_a_sleep_that_ends_late_skips_the_tick_it_ran_into() -> None:
    class Oversleeping(FakeClock):
        extra = 0.0

        def sleep(self, seconds: float) -> None:
            self.advance(seconds + self.extra)

    clock = Oversleeping(START)
    schedule = Schedule(clock, TICK)
    schedule.wait()
    clock.extra = 0.08
    late = schedule.wait()
    assert (late.lateness, late.skipped) == (0.08, 1)
    clock.extra = 0.0
    assert schedule.wait().wall_ns == START + 4 * TICK


def test_a_step_forward_skips_nothing(clock: FakeClock) -> None:
    schedule = Schedule(clock, TICK)
    schedule.wait()
    clock.step_wall(100.04)
    stepped = schedule.wait()
    assert stepped.clock_step == 100.04
    assert stepped.skipped == 0
    assert stepped.wall_ns % TICK == 0
    assert abs(stepped.wall_ns - clock.wall_ns()) <= 1


def test_stamps_increase_whatever_the_clock_does(clock: FakeClock) -> None:
    schedule = Schedule(clock, TICK)
    stamps = []
    for step in (0, -3600, 0, 5, -5, 0.0004, -0.0004, 86_400, -86_400, 0):
        clock.step_wall(step)
        stamps += [schedule.wait().wall_ns for _ in range(5)]
    assert stamps == sorted(set(stamps))


def test_a_clock_set_back_keeps_the_ticks_evenly_apart(clock: FakeClock) -> None:
    schedule = Schedule(clock, TICK)
    schedule.wait()
    clock.step_wall(-3600)
    instants = [schedule.wait() for _ in range(20)]
    assert all(0.099 <= instant.dt <= 0.1011 for instant in instants)
    assert sum(instant.skipped for instant in instants) == 0


def test_stamps_go_on_after_those_of_an_earlier_run(clock: FakeClock) -> None:
    end = clock.wall_ns() + 30 * SECOND_NS
    schedule = Schedule(clock, TICK, not_before_ns=end)
    assert schedule.wait().wall_ns > end
