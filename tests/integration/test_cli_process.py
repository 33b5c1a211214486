"""`hostsight` as a person or a service runs it: real processes, signals, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

DEADLINE_SECONDS = 60.0


def hostsight(*words: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "cli.main", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
        stdin=subprocess.DEVNULL,
        env=os.environ | environment,
    )


@pytest.fixture
def up(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """`hostsight up` on tmp_path, telling lines; its agent and jobs run."""
    process = subprocess.Popen(
        [sys.executable, "-m", "cli.main", "up", "--no-tui", "--data", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert any("collecting" in line for line in process.stdout)
        until((tmp_path / "run" / "serve.json").exists)
        yield process
    finally:
        process.kill()
        process.communicate()


def until(holds: Callable[[], bool]) -> None:
    """Wait for an event; fails after DEADLINE_SECONDS."""
    end = time.monotonic() + DEADLINE_SECONDS
    while not holds():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def children(data: Path) -> list[int]:
    """Process ids of the agent and the jobs on `data`."""
    return [json.loads((data / "run" / name).read_text())["pid"] for name in ("agent.json", "serve.json")]


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_up_for_a_time_stops_by_itself(tmp_path: Path) -> None:
    done = hostsight("up", "--no-tui", "--for", "6s", "--data", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"telemetry goes to {tmp_path}" in done.stdout
    assert "collecting" in done.stdout
    assert "stopped; 0 episodes" in done.stdout
    assert not any(map(exists, children(tmp_path)))
    assert {path.name for path in tmp_path.rglob("*") if path.stat().st_mode & 0o077} == set()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_signal_stops_both_children_in_order(
    up: subprocess.Popen[str], tmp_path: Path, number: int, code: int
) -> None:
    pids = children(tmp_path)
    assert all(map(exists, pids))
    up.send_signal(number)
    rest, _ = up.communicate(timeout=DEADLINE_SECONDS)
    assert up.returncode == code, rest
    assert "Traceback" not in rest
    assert not any(map(exists, pids))


def test_kill_9_takes_the_children_along(up: subprocess.Popen[str], tmp_path: Path) -> None:
    pids = children(tmp_path)
    up.kill()
    until(lambda: not any(map(exists, pids)))


def test_while_it_runs_others_read_and_a_second_is_refused(up: subprocess.Popen[str], tmp_path: Path) -> None:
    second = hostsight("up", "--no-tui", "--data", str(tmp_path))
    assert second.returncode == 3
    assert "already running" in second.stderr
    status = hostsight("status", "--json", "--data", str(tmp_path))
    document = json.loads(status.stdout)
    assert document["agent"]["running"] is True
    assert document["pipeline"]["running"] is True
    counted = hostsight(
        "sql", "SELECT count(*) AS n FROM channels", "--format", "json", "--data", str(tmp_path)
    )
    assert counted.returncode == 0, counted.stderr
    assert isinstance(json.loads(counted.stdout)[0]["n"], int)


def test_agent_and_jobs_run_apart(tmp_path: Path) -> None:
    assert hostsight("agent", "--for", "3s", "--data", str(tmp_path)).returncode == 0
    served = hostsight("serve", "--for", "3s", "--data", str(tmp_path))
    assert served.returncode == 0, served.stderr
    counted = hostsight(
        "sql", "SELECT count(*) > 0 AS some FROM samples", "--format", "json", "--data", str(tmp_path)
    )
    assert json.loads(counted.stdout) == [{"some": True}]


def test_packages_of_the_same_names_where_one_stands_are_left_alone(tmp_path: Path) -> None:
    for name in ("cli", "jobs", "models", "sql"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the wrong package')")
    done = hostsight("up", "--no-tui", "--for", "5s", "--data", str(tmp_path / "data"), cwd=tmp_path)
    assert "collecting" in done.stdout, done.stdout + done.stderr
    assert "wrong package" not in done.stdout


def test_a_folder_that_may_not_be_used_is_told_in_one_sentence() -> None:
    done = hostsight("up", "--no-tui", "--data", "/proc/hostsight")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "/proc/hostsight" in done.stderr
    assert "--data" in done.stderr


def test_the_console_needs_a_terminal(tmp_path: Path) -> None:
    done = hostsight("tui", "--data", str(tmp_path))
    assert done.returncode == 3
    assert "needs a terminal" in done.stderr


@pytest.mark.parametrize("locale", ["C", "POSIX"])
def test_a_terminal_without_utf8_loses_no_words(locale: str, tmp_path: Path) -> None:
    done = hostsight(
        "doctor", "--data", str(tmp_path), LC_ALL=locale, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"
    )
    assert done.returncode == 0, done.stderr
    assert "storage" in done.stdout
