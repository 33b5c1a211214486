from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import NoReturn

import pytest

from hostsight.clock import FakeClock
from hostsight.errors import HostsightError, StorageError
from hostsight.folders import DataFolder
from jobs.progress import Progress, write_progress
from jobs.service import Service, ServiceSpec, describe_exit, launch
from jobs.up import check_ran, tend


class FakeProcess:
    """As much of Popen as a service needs; `code` is None while it runs."""

    def __init__(self) -> None:
        self.pid = 4711
        self.code: int | None = None
        self.asked = False

    def poll(self) -> int | None:
        return self.code

    def terminate(self) -> None:
        self.asked = True
        self.code = 0

    def wait(self, timeout: float | None = None) -> int:
        assert self.code is not None, timeout
        return self.code


@pytest.fixture
def started() -> list[FakeProcess]:
    return []


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def service(tmp_path: Path, clock: FakeClock, started: list[FakeProcess], said: list[str]) -> Service:
    def start(_spec: ServiceSpec) -> FakeProcess:
        started.append(FakeProcess())
        return started[-1]

    spec = ServiceSpec("agent", "cli.main", ["agent"], {}, tmp_path / "agent.log")
    return Service(spec, clock, said.append, launch=start)  # type: ignore[arg-type]  # a fake process


def test_a_child_that_dies_is_started_again_after_a_second(
    service: Service, clock: FakeClock, started: list[FakeProcess], said: list[str]
) -> None:
    service.tend()
    started[0].code = -9
    service.tend()
    assert said == ["agent was killed (SIGKILL); starting it again in 1s"]

    clock.advance(0.9)
    service.tend()
    assert len(started) == 1
    clock.advance(0.1)
    service.tend()
    assert len(started) == 2


def test_the_back_off_doubles_up_to_a_minute_and_a_long_run_resets_it(
    service: Service, clock: FakeClock, started: list[FakeProcess], said: list[str]
) -> None:
    for _ in range(8):
        service.tend()
        started[-1].code = 1
        service.tend()
        clock.advance(60)
    assert [words.rsplit(" ", 1)[1] for words in said] == ["1s", "2s", "4s", "8s", "16s", "32s", "1m", "1m"]

    service.tend()
    clock.advance(61)
    started[-1].code = 1
    service.tend()
    assert said[-1].endswith("starting it again in 1s")


def test_a_child_that_cannot_be_started_again_is_tried_later(
    service: Service, clock: FakeClock, started: list[FakeProcess], said: list[str]
) -> None:
    works = service.launch
    service.tend()
    started[0].code = 1
    service.tend()
    service.launch = fails
    clock.advance(1)
    service.tend()
    assert said[1:] == ["agent could not be started: no space left; starting it again in 2s"]

    service.launch = works
    clock.advance(2)
    service.tend()
    assert len(started) == 2


def test_a_child_that_cannot_be_started_at_first_says_so(service: Service) -> None:
    service.launch = fails
    with pytest.raises(StorageError, match="no space left"):
        service.tend()


def fails(_spec: ServiceSpec) -> NoReturn:
    raise StorageError("no space left")


def test_the_last_line_of_its_log_says_why_a_child_ended(
    service: Service, started: list[FakeProcess], said: list[str]
) -> None:
    service.tend()
    service.spec.log.write_text("hostsight: one thing\nhostsight: the lock is held\n")
    started[0].code = 3
    service.tend()

    assert said == ["agent stopped (exit code 3): hostsight: the lock is held; starting it again in 1s"]


def test_a_child_that_failed_and_never_reported_is_an_error_at_the_end(
    service: Service, data: DataFolder, started: list[FakeProcess]
) -> None:
    service.tend()
    check_ran([service], data)
    service.spec.log.write_text("hostsight: state.db is damaged; move it away\n")
    started[0].code = 1
    service.tend()
    words = r"agent never came to run: it stopped \(exit code 1\): hostsight: state.db is damaged"
    with pytest.raises(HostsightError, match=words):
        check_ran([service], data)


def test_a_child_that_ran_and_failed_later_is_none(
    service: Service, data: DataFolder, started: list[FakeProcess]
) -> None:
    service.tend()
    report = Progress(pid=4711, store="embedded", started_ns=0, updated_ns=0, rss_bytes=0, cpu_percent=0.0)
    write_progress(data, report)
    started[0].code = 1
    service.tend()
    check_ran([service], data)


def test_when_told_to_stop_all_children_are_asked_before_any_is_waited_for(
    service: Service, clock: FakeClock, started: list[FakeProcess]
) -> None:
    stop = threading.Event()
    service.tend()
    stop.set()
    tend([service], clock, stop, None)

    assert started[0].asked
    assert service.pid is None


def test_a_log_that_has_grown_is_set_aside(tmp_path: Path) -> None:
    log = tmp_path / "agent.log"
    log.write_bytes(b"x" * (2**20 + 1))
    process = launch(ServiceSpec("agent", "this", [], {"PATH": ""}, log))
    process.wait(30)

    assert log.with_suffix(".log.1").stat().st_size == 2**20 + 1
    assert log.read_bytes()


def test_the_log_of_a_child_that_runs_is_bounded_and_goes_on(service: Service) -> None:
    with service.spec.log.open("ab", buffering=0) as log:
        service.tend()
        log.write(b"x" * (2**20 + 1))
        service.tend()
        log.write(b"more\n")

    assert service.spec.log.read_bytes() == b"more\n"
    assert service.spec.log.with_suffix(".log.1").stat().st_size == 2**20 + 1


def test_a_child_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    """A parent that starts `sleep`-like work and is killed at once: the child must not outlive it."""
    script = (
        "import subprocess, os, sys, time\n"
        "from jobs import child\n"
        "c = child.start('http.server', ['0', '--bind', '127.0.0.1'], environment=os.environ,"
        " output=subprocess.DEVNULL, errors=subprocess.DEVNULL)\n"
        "print(c.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    import subprocess

    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()

    assert gone(pid, seconds=20)


def gone(pid: int, seconds: float) -> bool:
    import psutil

    try:
        psutil.Process(pid).wait(seconds)
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return False
    return True


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, "stopped (exit code 0)"), (-15, "was killed (SIGTERM)"), (-99, "was killed (signal 99)")],
)
def test_an_exit_is_described(code: int, words: str) -> None:
    assert describe_exit(code) == words
