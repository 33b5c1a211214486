from __future__ import annotations

import sqlite3

import pytest

from hostsight.clock import SECOND_NS, FakeClock
from hostsight.errors import StorageError
from jobs.runs import mark_lost, prune_runs, recorded, refit_spans, start_run


def rows(state: sqlite3.Connection) -> list[tuple[object, ...]]:
    return [tuple(row) for row in state.execute("SELECT job, state, items, error FROM job_runs ORDER BY id")]


def test_a_run_records_its_items_and_times(state: sqlite3.Connection, clock: FakeClock) -> None:
    began = clock.wall_ns()
    with recorded(state, "compact", clock) as run:
        clock.advance(3)
        run.items = 12

    assert rows(state) == [("compact", "ok", 12, None)]
    row = state.execute("SELECT started_ns, finished_ns FROM job_runs").fetchone()
    assert tuple(row) == (began, began + 3 * SECOND_NS)


def test_a_run_that_raises_is_recorded_and_raises_on(state: sqlite3.Connection, clock: FakeClock) -> None:
    with pytest.raises(StorageError):
        _fail_after_two(state, clock)

    assert rows(state) == [("compact", "failed", 2, "the lake cannot be listed")]


def _fail_after_two(state: sqlite3.Connection, clock: FakeClock) -> None:
    with recorded(state, "compact", clock) as run:
        run.items = 2
        raise StorageError("the lake cannot be listed")


def test_an_unknown_error_is_recorded_with_its_kind(state: sqlite3.Connection, clock: FakeClock) -> None:
    with pytest.raises(ZeroDivisionError), recorded(state, "retain", clock):
        _ = 1 // 0

    assert rows(state)[0][3] == "ZeroDivisionError: integer division or modulo by zero"


def test_what_still_says_running_at_the_start_was_killed(state: sqlite3.Connection, clock: FakeClock) -> None:
    start_run(state, "materialise", clock.wall_ns())
    with recorded(state, "compact", clock):
        pass

    assert mark_lost(state) == 1
    assert [row[1] for row in rows(state)] == ["lost", "ok"]
    assert "killed" in str(rows(state)[0][3])
    assert mark_lost(state) == 0


def test_a_refit_is_a_quiet_span_until_it_ends(state: sqlite3.Connection, clock: FakeClock) -> None:
    began = clock.wall_ns()
    with recorded(state, "refit", clock):
        clock.advance(5)
        (span,) = refit_spans(state, clock.wall_ns())
        assert span.start_ns == began
        assert span.end_ns > clock.wall_ns() + 3600 * SECOND_NS
    ended = clock.wall_ns()

    assert [span.end_ns for span in refit_spans(state, ended - 1)] == [ended]
    assert refit_spans(state, ended) == []


def test_a_refit_that_was_killed_is_quiet_no_longer(state: sqlite3.Connection, clock: FakeClock) -> None:
    start_run(state, "refit", clock.wall_ns())
    mark_lost(state)

    assert refit_spans(state, clock.wall_ns() - SECOND_NS) == []


def test_a_refit_during_which_the_clock_was_set_back_stops_nothing(
    state: sqlite3.Connection, clock: FakeClock
) -> None:
    before = clock.wall_ns() - 60 * SECOND_NS
    with recorded(state, "refit", clock):
        clock.step_wall(-30)

    (span,) = refit_spans(state, before)
    assert not span


def test_old_runs_are_pruned_but_never_one_under_way(state: sqlite3.Connection, clock: FakeClock) -> None:
    start_run(state, "materialise", clock.wall_ns())
    with recorded(state, "compact", clock):
        pass
    clock.advance(10)

    assert prune_runs(state, clock.wall_ns()) == 1
    assert [row[0] for row in rows(state)] == ["materialise"]
