"""The pipeline's process and the supervisor of `up`, as they really run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from hostsight.folders import DataFolder
from hostsight.settings import AgentSettings, Settings
from ingest.heartbeat import read_heartbeat
from jobs.progress import read_progress
from jobs.runs import start_run
from jobs.serve import run_serve
from jobs.up import supervise
from migrations import open_state
from tests.integration.processes import DEADLINE_SECONDS, HOST, REPOSITORY, wait_for

SETTINGS = Settings(agent=AgentSettings(host=HOST))


def test_serve_runs_until_told_to_stop_and_marks_what_was_killed_before(data: DataFolder) -> None:
    connection = open_state(data.state_db)
    start_run(connection, "refit", 1)
    stop = threading.Event()
    thread = threading.Thread(target=run_serve, args=(SETTINGS, data), kwargs={"stop": stop})
    thread.start()
    wait_for(lambda: read_progress(data) is not None, "the pipeline's report")
    stop.set()
    thread.join(DEADLINE_SECONDS)

    assert not thread.is_alive()
    states = connection.execute("SELECT job, state FROM job_runs ORDER BY id").fetchall()
    assert [tuple(row) for row in states] == [("refit", "lost"), ("materialise", "ok")]
    connection.close()


def test_serve_ends_by_itself_after_its_time(data: DataFolder) -> None:
    run_serve(SETTINGS, data, seconds=0.5)

    assert (data.run / "serve.lock").exists()


def test_serve_ends_when_its_live_job_does(data: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(*_: object) -> None:
        raise RuntimeError("the live job died")

    monkeypatch.setattr("jobs.live.LiveJob.follow", dies)
    with pytest.raises(RuntimeError, match="the live job died"):
        run_serve(SETTINGS, data)


def test_the_live_path_never_imports_what_only_a_refit_needs() -> None:
    code = "import jobs.serve, sys; print([m for m in ('sklearn', 'scipy', 'textual', 'click') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY
    )

    assert done.stdout == "[]\n"


def in_thread(data: DataFolder, stop: threading.Event, say: Callable[[str], None]) -> threading.Thread:
    thread = threading.Thread(target=supervise, args=(SETTINGS, data), kwargs={"stop": stop, "say": say})
    thread.start()
    return thread


def test_up_starts_again_what_is_killed_and_leaves_nothing_behind(data: DataFolder) -> None:
    said: list[str] = []
    stop = threading.Event()
    thread = in_thread(data, stop, said.append)
    try:
        wait_for(lambda: agent_pid(data) is not None and serve_pid(data) is not None, "agent and jobs")
        first = agent_pid(data)
        assert first is not None
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: agent_pid(data) not in {None, first}, "another agent")
    finally:
        pids = [pid for pid in (agent_pid(data), serve_pid(data)) if pid is not None]
        stop.set()
        thread.join(DEADLINE_SECONDS)

    assert said[0].startswith("agent was killed (SIGKILL)")
    assert said[0].endswith("starting it again in 1s")
    assert [pid for pid in pids if psutil.pid_exists(pid)] == []


def agent_pid(data: DataFolder) -> int | None:
    beat = read_heartbeat(data)
    return beat.pid if beat else None


def serve_pid(data: DataFolder) -> int | None:
    progress = read_progress(data)
    return progress.pid if progress else None


def test_when_up_itself_is_killed_agent_and_jobs_end_too(tmp_path: Path) -> None:
    data = DataFolder(tmp_path / "data")
    up = subprocess.Popen(
        [sys.executable, "-m", "cli.main", "--data", str(data.root), "up", "--no-tui"],
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )
    wait_for(lambda: agent_pid(data) is not None and serve_pid(data) is not None, "agent and jobs")
    pids = [agent_pid(data), serve_pid(data)]
    up.kill()
    up.wait()

    for pid in pids:
        assert pid is not None
        assert has_ended(pid)


def has_ended(pid: int) -> bool:
    end = time.monotonic() + DEADLINE_SECONDS
    with suppress(psutil.NoSuchProcess):
        while time.monotonic() < end:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
            threading.Event().wait(0.05)
        return False
    return True


def test_serve_chooses_its_allocator_before_arrow_is_loaded() -> None:
    code = (
        "import cli.commands.serve, sys; assert 'pyarrow' not in sys.modules\n"
        "from jobs.allocator import choose_allocator; choose_allocator()\n"
        "import jobs.serve, pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY
    )

    assert done.stdout == "system\n"
