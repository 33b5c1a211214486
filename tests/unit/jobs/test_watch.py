from __future__ import annotations

import threading

from hostsight.clock import FakeClock
from jobs.serve import watch


class Waits(threading.Event):
    """Waiting moves a fake clock, and steps its wall time before the `step_at`th wait."""

    def __init__(self, clock: FakeClock, step_seconds: float = 0.0, step_at: int = 3) -> None:
        super().__init__()
        self._clock, self._step, self._step_at = clock, step_seconds, step_at
        self.waits = 0

    def wait(self, timeout: float | None = None) -> bool:
        self.waits += 1
        if self.waits == self._step_at:
            self._clock.step_wall(self._step)
        self._clock.advance(timeout or 0.0)
        return False


class Planned:
    def __init__(self) -> None:
        self.again = 0

    def run_all_now(self) -> None:
        self.again += 1


def planned_again(clock: FakeClock, step_seconds: float) -> int:
    pipeline = Planned()
    watch(pipeline, clock, Waits(clock, step_seconds), 10.0)  # type: ignore[arg-type]  # only plans again
    return pipeline.again


def test_after_a_step_of_the_clock_everything_is_planned_again_once(clock: FakeClock) -> None:
    assert planned_again(clock, -3600) == 1
    assert planned_again(clock, 3600) == 1


def test_a_small_step_is_left_to_the_scheduler(clock: FakeClock) -> None:
    assert planned_again(clock, 1.5) == 0


def test_the_end_comes_after_the_time_asked_for(clock: FakeClock) -> None:
    began = clock.monotonic_ns()
    watch(Planned(), clock, Waits(clock), 2.5)  # type: ignore[arg-type]  # only plans again

    assert clock.monotonic_ns() - began == 2_500_000_000
