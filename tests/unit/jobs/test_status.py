from __future__ import annotations

import json
import os
import sqlite3
from typing import NoReturn

import pytest

from hostsight.clock import SECOND_NS, FakeClock
from hostsight.files import locked
from hostsight.folders import SET_ASIDE, DataFolder
from hostsight.settings import Settings
from ingest.heartbeat import CollectorBeat, Heartbeat, write_heartbeat
from jobs.build import installed_build
from jobs.job_status import JobStatus
from jobs.progress import HostProgress, Progress, write_progress
from jobs.runs import finish_run, mark_lost, start_run
from jobs.schedule import MATERIALISE
from jobs.status import Status, look, read_status
from jobs.store_status import read_store
from jobs.watermarks import advance

GONE = 2**22 + 1
"""A process id beyond what the kernel gives."""


def status(data: DataFolder, clock: FakeClock) -> Status:
    return read_status(data, Settings(), clock.wall_ns())


def job(found: Status, name: str) -> JobStatus:
    return next(one for one in found.jobs if one.job == name)


def beat(clock: FakeClock, **changed: object) -> Heartbeat:
    facts: dict[str, object] = {
        "pid": os.getpid(),
        "host": "h1",
        "root": "/",
        "started_ns": clock.wall_ns() - 60 * SECOND_NS,
        "updated_ns": clock.wall_ns(),
        "tick_seconds": 0.1,
        "ticks": 600,
        "late_ticks": 2,
        "lateness_p99_ms": 1.5,
        "lost_values": 0,
        "spool_bytes": 1000,
        "spool_dropped_segments": 0,
        "rss_bytes": 7 * 10**7,
        "cpu_percent": 1.0,
        "channels": 300,
        "storage_error": None,
        "collectors": [],
    }
    return Heartbeat(**(facts | changed))  # type: ignore[arg-type]  # facts of several types


def progress(
    clock: FakeClock,
    *hosts: HostProgress,
    pid: int | None = None,
    error: str | None = None,
    build: str | None = None,
) -> Progress:
    return Progress(
        pid=os.getpid() if pid is None else pid,
        store="embedded",
        started_ns=clock.wall_ns(),
        updated_ns=clock.wall_ns(),
        rss_bytes=1,
        cpu_percent=3.0,
        hosts=hosts,
        error=error,
        build=installed_build() if build is None else build,
    )


def test_jobs_that_run_what_is_no_longer_installed_are_to_be_restarted(
    data: DataFolder, clock: FakeClock
) -> None:
    write_progress(data, progress(clock))
    assert not any("earlier hostsight" in problem for problem in status(data, clock).problems)
    write_progress(data, progress(clock, build="0.0.9+0123456789ab"))
    with locked(data.serve_lock, "a pipeline"):
        (problem,) = (one for one in status(data, clock).problems if "earlier hostsight" in one)
    assert "(0.0.9+0123456789ab) than is installed (" in problem
    assert problem.endswith("restart `hostsight serve`")


def test_while_the_jobs_start_an_empty_state_database_is_no_problem(
    data: DataFolder, clock: FakeClock
) -> None:
    data.state_db.touch()
    assert any("is not set up yet" in problem for problem in status(data, clock).problems)
    with locked(data.up_lock, "`hostsight up`"), locked(data.serve_lock, "a pipeline"):
        problems = status(data, clock).problems
    assert not any("is not set up yet" in problem for problem in problems)
    assert sum("the jobs are being started by `hostsight up`" in problem for problem in problems) == 1


def test_an_empty_folder_is_described_not_refused(data: DataFolder, clock: FakeClock) -> None:
    found = status(data, clock)

    assert found.hosts == ()
    assert [one.state for one in found.jobs] == ["never"] * 4
    assert any("no agent has run" in problem for problem in found.problems)


def test_a_folder_that_does_not_exist_is_named(tmp_path: object, clock: FakeClock) -> None:
    data = DataFolder(tmp_path / "nowhere")  # type: ignore[operator]  # a Path

    assert any("nowhere does not exist; start `hostsight up`" in one for one in status(data, clock).problems)


def test_all_well_has_no_problem(data: DataFolder, clock: FakeClock, state: sqlite3.Connection) -> None:
    now = clock.wall_ns()
    write_heartbeat(data, beat(clock))
    host = HostProgress(
        host="h1", position_ns=now, available_ns=now, windows=90, progress=0.5, activity="learning"
    )
    write_progress(data, progress(clock, host))
    advance(state, MATERIALISE, "h1", now - SECOND_NS, now)
    found = status(data, clock)

    assert found.problems == ()
    (shown,) = found.hosts
    assert (shown.phase, shown.progress, shown.activity) == ("learning", 0.5, "learning")
    assert (shown.lag_seconds, shown.newest_ns) == (1.0, now)
    assert json.loads(found.to_json())["agent"]["running"] is True


def test_a_silent_host_has_no_data(data: DataFolder, clock: FakeClock, state: sqlite3.Connection) -> None:
    advance(state, MATERIALISE, "h1", clock.wall_ns(), clock.wall_ns())
    clock.advance(61)
    write_progress(data, progress(clock, HostProgress(host="h1", activity="watching")))
    (host,) = status(data, clock).hosts

    assert host.phase == "no data"
    assert host.activity == "waiting for telemetry: none for over a minute"


def test_a_job_that_raised_shows_its_error_and_when_it_is_due(
    data: DataFolder, clock: FakeClock, state: sqlite3.Connection
) -> None:
    run = start_run(state, "compact", clock.wall_ns())
    finish_run(state, run, clock.wall_ns() + 2 * SECOND_NS, "no space left while writing lake/x")
    shown = job(status(data, clock), "compact")

    assert (shown.state, shown.failures, shown.duration_seconds) == ("failed", 1, 2.0)
    assert shown.error == "no space left while writing lake/x"
    assert shown.next is None
    write_progress(data, progress(clock))
    assert job(status(data, clock), "compact").next == "2023-11-14T22:14:20.000Z"
    assert any("job compact failed" in problem for problem in status(data, clock).problems)


def test_a_failure_is_remembered_for_a_day_after_the_job_has_recovered(
    data: DataFolder, clock: FakeClock, state: sqlite3.Connection
) -> None:
    finish_run(state, start_run(state, "retain", clock.wall_ns()), clock.wall_ns(), "bad")
    clock.advance(3600)
    finish_run(state, start_run(state, "retain", clock.wall_ns()), clock.wall_ns())
    shown = job(status(data, clock), "retain")
    assert (shown.state, shown.failures, shown.error) == ("ok", 1, "bad")

    clock.advance(86_400)
    shown = job(status(data, clock), "retain")
    assert (shown.failures, shown.error) == (0, None)


def test_a_run_that_ended_before_it_began_by_a_clock_set_back_took_no_time(
    data: DataFolder, clock: FakeClock, state: sqlite3.Connection
) -> None:
    run = start_run(state, "compact", clock.wall_ns())
    finish_run(state, run, clock.wall_ns() - SECOND_NS)

    assert job(status(data, clock), "compact").duration_seconds == 0.0


def test_a_job_that_was_killed_is_lost(data: DataFolder, clock: FakeClock, state: sqlite3.Connection) -> None:
    start_run(state, "refit", clock.wall_ns())
    mark_lost(state)
    shown = job(status(data, clock), "refit")

    assert (shown.state, shown.failures) == ("lost", 1)
    assert any("job refit lost" in problem for problem in status(data, clock).problems)


def test_a_job_still_running_when_it_is_due_again_overruns(
    data: DataFolder, clock: FakeClock, state: sqlite3.Connection
) -> None:
    start_run(state, "compact", clock.wall_ns())
    assert not job(status(data, clock), "compact").overrun

    clock.advance(61)
    assert job(status(data, clock), "compact").overrun
    assert any("job compact overruns" in problem for problem in status(data, clock).problems)


def test_the_live_job_runs_for_ever_and_never_overruns(
    data: DataFolder, clock: FakeClock, state: sqlite3.Connection
) -> None:
    start_run(state, MATERIALISE, clock.wall_ns())
    clock.advance(3600)

    assert not job(status(data, clock), MATERIALISE).overrun


def test_an_agent_that_ended_is_told_from_one_that_is_stuck(data: DataFolder, clock: FakeClock) -> None:
    write_heartbeat(data, beat(clock))
    clock.advance(30)
    ended = status(data, clock)
    with locked(data.agent_lock, "an agent"):
        stuck = status(data, clock)

    assert not ended.agent.running
    assert any("the agent is not running: last heard 30s ago" in problem for problem in ended.problems)
    words = f"the agent (process {os.getpid()}) last reported 30s ago: stuck, or unable to write"
    assert any(words in problem for problem in stuck.problems)


def test_jobs_that_hold_the_folder_but_cannot_report_are_running(
    data: DataFolder, clock: FakeClock, state: sqlite3.Connection
) -> None:
    advance(state, MATERIALISE, "h1", clock.wall_ns(), clock.wall_ns())
    write_progress(data, progress(clock, pid=GONE))
    clock.advance(30)
    with locked(data.serve_lock, "a pipeline"):
        found = status(data, clock)

    assert (found.pipeline.running, found.pipeline.pid, found.pipeline.started) == (True, os.getpid(), None)
    assert found.hosts[0].activity == "no report from the jobs: starting, stuck, or unable to write"
    words = f"the jobs (process {os.getpid()}) last reported 30s ago: stuck, or unable to write, or an import, which reports nothing"
    assert any(words in problem for problem in found.problems)


def test_what_is_stuck_under_up_is_restarted_by_it(data: DataFolder, clock: FakeClock) -> None:
    write_progress(data, progress(clock, pid=GONE))
    clock.advance(30)
    with locked(data.serve_lock, "a pipeline"), locked(data.up_lock, "`hostsight up`"):
        found = status(data, clock)

    words = "stuck, or unable to write; make room or mend the rights, or restart `hostsight up`"
    assert any(words in problem for problem in found.problems)


def test_while_up_starts_them_nobody_is_asked_to(
    data: DataFolder, clock: FakeClock, state: sqlite3.Connection
) -> None:
    advance(state, MATERIALISE, "h1", clock.wall_ns(), clock.wall_ns())
    with locked(data.up_lock, "`hostsight up`"):
        found = status(data, clock)

    assert found.hosts[0].activity == "starting"
    assert any("the jobs are being started by `hostsight up`" in problem for problem in found.problems)
    assert not any("not running" in problem for problem in found.problems)


def test_a_host_whose_agent_has_ended_has_no_data_at_once(
    data: DataFolder, clock: FakeClock, state: sqlite3.Connection
) -> None:
    advance(state, MATERIALISE, "h1", clock.wall_ns(), clock.wall_ns())
    write_heartbeat(data, beat(clock, pid=GONE))
    write_progress(data, progress(clock, HostProgress(host="h1", activity="watching")))
    (host,) = status(data, clock).hosts

    assert (host.phase, host.activity) == ("no data", "waiting for telemetry: the agent is not running")


def test_a_host_is_live_once_the_pipeline_judges_it(
    data: DataFolder, clock: FakeClock, state: sqlite3.Connection
) -> None:
    now = clock.wall_ns()
    advance(state, MATERIALISE, "h1", now, now)
    state.execute("INSERT INTO models VALUES ('m1', 'h1', 'live', 1, 0, 1, 178, 20, 20, 'test')")
    phases = []
    for live in (False, True):
        activity = "watching" if live else "fitting a baseline"
        report = HostProgress(host="h1", live=live, progress=1.0, activity=activity)
        write_progress(data, progress(clock, report))
        phases.append(status(data, clock).hosts[0].phase)

    assert phases == ["learning", "live"]


def test_a_failed_collector_and_a_full_spool_are_problems(data: DataFolder, clock: FakeClock) -> None:
    failed = CollectorBeat("cpu", "fast", "failed", "", "ValueError: garbage", 0, 1.0)
    write_heartbeat(
        data, beat(clock, collectors=[failed], storage_error="no space left", spool_dropped_segments=3)
    )
    problems = " | ".join(status(data, clock).problems)

    assert "collector cpu fails: ValueError: garbage" in problems
    assert "keeps no telemetry now: no space left" in problems
    assert "3 spool segments were dropped" in problems


def test_a_pipeline_that_does_not_get_on_or_is_ahead_of_the_clock_says_so(
    data: DataFolder, clock: FakeClock, state: sqlite3.Connection
) -> None:
    del state
    now = clock.wall_ns()
    ahead = HostProgress(host="h1", position_ns=now + 3600 * SECOND_NS, available_ns=now)
    behind = HostProgress(host="h2", position_ns=now - 90 * SECOND_NS, available_ns=now)
    write_progress(data, progress(clock, ahead, behind, error="state.db is locked"))
    problems = " | ".join(status(data, clock).problems)

    assert "the jobs do not get on: state.db is locked" in problems
    assert "h1: telemetry is stamped 1h ahead of this clock, which was set back" in problems
    assert "h2: windows are 1m30s behind" in problems


def test_why_the_live_job_fails_is_said_once(
    data: DataFolder, clock: FakeClock, state: sqlite3.Connection
) -> None:
    run = start_run(state, MATERIALISE, clock.wall_ns())
    finish_run(state, run, clock.wall_ns(), "no space left")
    write_progress(data, progress(clock, error="no space left"))
    assert [line for line in status(data, clock).problems if "no space left" in line] == [
        "the jobs do not get on: no space left"
    ]

    clock.advance(60)
    (ended,) = [line for line in status(data, clock).problems if "no space left" in line]
    assert ended.startswith("job materialise failed at ")


def test_a_damaged_state_database_is_a_problem_not_a_traceback(data: DataFolder, clock: FakeClock) -> None:
    data.state_db.write_bytes(b"this is no database" * 100)

    assert any("is damaged" in problem for problem in status(data, clock).problems)


def test_a_look_gives_the_episodes_since_then(
    data: DataFolder, clock: FakeClock, state: sqlite3.Connection
) -> None:
    state.execute("INSERT INTO models VALUES ('m1', 'h1', 'live', 1, 0, 1, 178, 20, 20, 'test')")
    state.executemany(
        """INSERT INTO episodes (id, host, state, opened_ns, last_seen_ns, closed_ns, severity, score, confidence,
        subsystem, device, metric, summary, model, visible_ns)
        VALUES (?, 'h1', 'closed', 10, ?, 40, 'warning', 1, 1, 'cpu', 'host', 'busy_percent', 's', 'm1', 10)""",
        [(1, 19), (2, 20), (3, 30)],
    )

    assert [one.id for one in look(data, Settings(), clock.wall_ns(), since_ns=20)[1]] == [3, 2]
    assert look(data, Settings(), clock.wall_ns())[1] == ()


def test_a_look_at_a_database_that_fails_says_so(
    data: DataFolder, clock: FakeClock, state: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> NoReturn:
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr("jobs.status.list_episodes", fails)
    found, episodes = look(data, Settings(), clock.wall_ns(), since_ns=0)

    assert "database is locked" in found.problems
    assert episodes == ()


def test_files_that_were_set_aside_are_counted(data: DataFolder, clock: FakeClock) -> None:
    folder = data.lake / "samples" / "date=2026-01-31" / "hour=12"
    folder.mkdir(parents=True)
    (folder / f"h1~0-1.parquet{SET_ASIDE}").write_bytes(b"12345")
    (folder / "h1~1-2.parquet").write_bytes(b"12")
    found = status(data, clock)

    assert (found.store.damaged_files, found.store.lake_bytes) == (1, 7)
    assert any("1 damaged files were set aside" in problem for problem in found.problems)


def test_a_lake_is_measured_each_ten_seconds_at_most(
    data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    for second in (50.0, 51.0, 59.9, 60.0):
        monkeypatch.setattr("jobs.store_status.time.monotonic", lambda second=second: second)
        (data.lake / f"{second}.parquet").write_bytes(b"x")
        sizes.append(read_store(data, None, None).lake_bytes)

    assert sizes == [1, 1, 1, 4]


def test_a_report_that_cannot_be_decoded_counts_as_none(data: DataFolder, clock: FakeClock) -> None:
    (data.run / "serve.json").write_bytes(b'{"pid": "x"')

    assert not status(data, clock).pipeline.running
