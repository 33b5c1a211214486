from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from typing import NoReturn

import pytest

from hostsight.clock import SystemClock
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from jobs import child
from jobs.refit_job import RefitJob
from jobs.requests import ask, oldest

FITTED = (
    'import sys; sys.stdout.write(\'{"model": "m", "promoted": true, "windows": 40, "quarantined": 0,'
    ' "flagged": 0.0, "live_flagged": null, "reason": "r"}\')'
)


@pytest.fixture
def stop() -> threading.Event:
    return threading.Event()


@pytest.fixture
def job(data: DataFolder, stop: threading.Event, monkeypatch: pytest.MonkeyPatch) -> RefitJob:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    return RefitJob(Settings(), data, SystemClock(), stop)


def child_is(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """The refit's child runs `code` instead."""

    def start(*_: object, environment: dict[str, str], **__: object) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    monkeypatch.setattr(child, "start", start)


THREADS = (
    "import numpy, sys, threadpoolctl;"
    " sys.exit(' '.join(sorted({str(pool['num_threads']) for pool in threadpoolctl.threadpool_info()})))"
)


def rows(state: sqlite3.Connection) -> list[tuple[object, ...]]:
    return [tuple(row) for row in state.execute("SELECT state, items, error FROM job_runs ORDER BY id")]


def test_a_request_is_done_once_and_deleted(
    job: RefitJob, state: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    child_is(monkeypatch, FITTED)
    ask(state, "refit", "h1", 1)
    ask(state, "refit", "h1", 2)

    assert job.run() == 1
    assert rows(state) == [("ok", 40, None)]
    assert oldest(state) is None
    assert job.run() == 0


def test_a_refit_that_is_killed_is_a_failed_run_and_the_next_request_has_its_turn(
    job: RefitJob, state: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    child_is(monkeypatch, "import os; os.kill(os.getpid(), 9)")
    ask(state, "warm-up", "h1", 1)
    ask(state, "warm-up", "h2", 1)

    assert job.run() == 2
    assert rows(state)[0] == (
        "failed",
        0,
        "the refit of h1 was killed (SIGKILL); it is tried again when next due",
    )


def test_the_childs_own_words_are_the_error(
    job: RefitJob,
    state: sqlite3.Connection,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    child_is(monkeypatch, "import sys; print('noise', file=sys.stderr); sys.exit('too few windows')")
    ask(state, "growth", "h1", 1)
    job.run()

    assert rows(state) == [("failed", 0, "too few windows")]
    assert capsys.readouterr().err == "hostsight serve: too few windows\n"


def test_the_child_leaves_the_other_cores_alone(
    job: RefitJob, state: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    child_is(monkeypatch, THREADS)
    ask(state, "refit", "h1", 1)
    job.run()

    assert rows(state) == [("failed", 0, "1")]


def test_when_the_pipeline_stops_the_child_ends_and_the_request_stays(
    job: RefitJob, state: sqlite3.Connection, stop: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    child_is(monkeypatch, "import time; time.sleep(600)")
    ask(state, "nightly", "h1", 1)
    threading.Timer(0.3, stop.set).start()

    assert job.run() == 0
    assert [row[0] for row in rows(state)] == ["lost"]
    assert oldest(state) is not None


def test_a_request_whose_run_could_not_begin_stays(
    job: RefitJob, state: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> NoReturn:
        raise sqlite3.OperationalError("database or disk is full")

    child_is(monkeypatch, FITTED)
    ask(state, "refit", "h1", 1)
    with monkeypatch.context() as patch:
        patch.setattr("jobs.runs.start_run", full)
        assert job.run() == 0
    assert oldest(state) is not None

    assert job.run() == 1
    assert rows(state) == [("ok", 40, None)]


def test_the_real_child_refuses_a_host_without_windows_in_words(
    job: RefitJob, state: sqlite3.Connection
) -> None:
    ask(state, "refit", "nobody", 1)
    job.run()

    assert rows(state) == [
        ("failed", 0, "host nobody has no windows yet; let the agent and the jobs run first")
    ]
