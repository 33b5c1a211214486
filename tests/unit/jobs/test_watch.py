from __future__ import annotations

import threading
from typing import Literal

import pytest

from hostsight.clock import SECOND_NS, FakeClock
from hostsight.settings import Settings, StoreSettings
from jobs.bucket import ASK_SECONDS, Bucket
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
    def __init__(self, *, hostless: bool = False) -> None:
        self.again = 0
        self.hostless = hostless

    def run_all_now(self) -> None:
        self.again += 1


def watched(pipeline: Planned, bucket: Bucket, stop: Waits, clock: FakeClock, seconds: float) -> bool:
    end_ns = clock.monotonic_ns() + round(seconds * SECOND_NS)
    return watch(pipeline, bucket, clock, stop, end_ns)  # type: ignore[arg-type]  # only what `watch` asks for


def planned_again(clock: FakeClock, step_seconds: float) -> int:
    pipeline = Planned()
    watched(pipeline, Bucket(Settings(), clock), Waits(clock, step_seconds), clock, 10.0)
    return pipeline.again


def test_after_a_step_of_the_clock_everything_is_planned_again_once(clock: FakeClock) -> None:
    assert planned_again(clock, -3600) == 1
    assert planned_again(clock, 3600) == 1


def test_a_small_step_is_left_to_the_scheduler(clock: FakeClock) -> None:
    assert planned_again(clock, 1.5) == 0


def test_the_end_comes_after_the_time_asked_for(clock: FakeClock) -> None:
    began = clock.monotonic_ns()
    assert not watched(Planned(), Bucket(Settings(), clock), Waits(clock), clock, 2.5)

    assert clock.monotonic_ns() - began == 2_500_000_000


def test_a_bucket_without_hosts_is_asked_now_and_then_whose_it_is(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, paced, asked = influx("influx"), influx("telegraf"), list[int]()

    def recognised(settings: Settings) -> Settings:
        asked.append(clock.monotonic_ns())
        return settings if len(asked) < 3 else paced

    monkeypatch.setattr("jobs.telegraf.recognised", recognised)
    bucket = Bucket(given, clock)

    assert watched(Planned(hostless=True), bucket, Waits(clock), clock, 100.0)
    assert bucket.settings is paced
    assert [ns - asked[0] for ns in asked] == [0, ASK_SECONDS * SECOND_NS, 2 * ASK_SECONDS * SECOND_NS]
    assert not watched(Planned(hostless=True), bucket, Waits(clock), clock, 100.0)
    assert len(asked) == 3, "telegraf's it stays"


def test_a_bucket_with_hosts_is_not_asked_again(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [influx("telegraf"), given := influx("influx")]
    monkeypatch.setattr("jobs.telegraf.recognised", lambda _: answers.pop())

    assert not watched(Planned(), Bucket(given, clock), Waits(clock), clock, 100.0)
    assert len(answers) == 1


def influx(kind: Literal["influx", "telegraf"]) -> Settings:
    return Settings(store=StoreSettings(kind=kind))
