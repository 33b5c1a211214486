from __future__ import annotations

import sqlite3

from hostsight.clock import SECOND_NS, FakeClock
from hostsight.folders import DataFolder
from hostsight.settings import JobSettings, Settings
from jobs.nightly import ask_nightly
from jobs.requests import oldest
from jobs.schedule import REFIT, schedules

SETTINGS = Settings(jobs=JobSettings(refit_hour=2))


def add_model(state: sqlite3.Connection, created_ns: int) -> None:
    state.execute("INSERT INTO models VALUES ('m', 'h1', 'live', ?, 0, 1, 60, 3, 3, '')", (created_ns,))


def due_ns(clock: FakeClock) -> int:
    return schedules(SETTINGS.jobs)[REFIT].latest_due_ns(clock.wall_ns())


def test_a_model_from_before_the_hour_is_refitted_once_a_night(
    data: DataFolder, state: sqlite3.Connection, clock: FakeClock
) -> None:
    add_model(state, due_ns(clock) - 1)

    assert ask_nightly(SETTINGS, data, clock) == 1
    assert ask_nightly(SETTINGS, data, clock) == 0
    request = oldest(state)
    assert request is not None
    assert (request.why, request.host) == ("nightly", "h1")


def test_a_model_learnt_since_waits_for_the_next_night_also_when_the_hour_was_slept_through(
    data: DataFolder, state: sqlite3.Connection, clock: FakeClock
) -> None:
    add_model(state, clock.wall_ns())
    assert ask_nightly(SETTINGS, data, clock) == 0

    clock.advance((due_ns(clock) + 30 * 3600 * SECOND_NS - clock.wall_ns()) / SECOND_NS)
    assert ask_nightly(SETTINGS, data, clock) == 1


def test_a_host_that_is_still_learning_is_left_alone(
    data: DataFolder, state: sqlite3.Connection, clock: FakeClock
) -> None:
    assert ask_nightly(SETTINGS, data, clock) == 0
    assert oldest(state) is None
