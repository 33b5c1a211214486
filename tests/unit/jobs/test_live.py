from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from hostsight.clock import SECOND_NS, FakeClock
from hostsight.errors import FullError, StorageError
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from ingest.embedded import EmbeddedStore
from jobs.live import POLL_SECONDS, REST_SECONDS, LiveJob
from jobs.progress import read_progress
from tests.unit.jobs.conftest import START_NS, Write


class MoodyStore(EmbeddedStore):
    """Raises `trouble` while there is any."""

    trouble: Exception | None = None

    def hosts(self) -> Sequence[str]:
        if self.trouble is not None:
            raise self.trouble
        return super().hosts()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(wall_ns=START_NS + 5 * SECOND_NS)


@pytest.fixture
def store(data: DataFolder) -> MoodyStore:
    return MoodyStore(data, Settings())


@pytest.fixture
def job(data: DataFolder, store: MoodyStore, clock: FakeClock, write: Write) -> Iterator[LiveJob]:
    write(0, 5)
    made = LiveJob(Settings(), data, store, clock)
    yield made
    made.close()


def rows(state: sqlite3.Connection) -> list[tuple[object, ...]]:
    return [tuple(row) for row in state.execute("SELECT state, items, error FROM job_runs ORDER BY id")]


def test_one_row_grows_while_all_is_well(
    job: LiveJob, state: sqlite3.Connection, clock: FakeClock, write: Write
) -> None:
    job.run()
    write(5, 8)
    clock.advance(3)
    job.run()
    assert rows(state) == [("running", 8, None)]

    job.close()
    assert rows(state) == [("ok", 8, None)]


def test_trouble_is_told_once_recorded_once_and_over_by_itself(
    job: LiveJob,
    store: MoodyStore,
    state: sqlite3.Connection,
    clock: FakeClock,
    capsys: pytest.CaptureFixture[str],
) -> None:
    store.trouble = FullError("no space left while writing lake")
    for _ in range(5):
        job.run()
        clock.advance(1)
    assert rows(state) == [("failed", 0, "no space left while writing lake")]
    assert capsys.readouterr().err == "hostsight serve: no space left while writing lake\n"

    store.trouble = None
    job.run()
    assert rows(state)[1:] == [("running", 5, None)]


def test_a_failure_ends_the_growing_row_with_what_was_done(
    job: LiveJob, store: MoodyStore, state: sqlite3.Connection, clock: FakeClock
) -> None:
    job.run()
    store.trouble = StorageError("the spool cannot be listed")
    clock.advance(1)
    job.run()

    assert rows(state) == [("failed", 5, "the spool cannot be listed")]


def test_trouble_is_tried_again_after_a_second_and_not_before(
    job: LiveJob, store: MoodyStore, state: sqlite3.Connection, clock: FakeClock
) -> None:
    store.trouble = StorageError("once")
    job.run()
    store.trouble = None
    clock.advance(0.9)
    job.run()
    assert [row[0] for row in rows(state)] == ["failed"]

    clock.advance(0.1)
    job.run()
    assert [row[0] for row in rows(state)] == ["failed", "running"]


def test_an_error_nobody_foresaw_keeps_its_traceback_for_the_log(
    job: LiveJob, store: MoodyStore, state: sqlite3.Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    store.trouble = ZeroDivisionError("division by zero")
    job.run()

    assert rows(state) == [("failed", 0, "ZeroDivisionError: division by zero")]
    assert "Traceback" in capsys.readouterr().err


def test_a_log_on_the_full_disk_too_stops_nothing(
    job: LiveJob, store: MoodyStore, state: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.trouble = FullError("no space left")
    with Path("/dev/full").open("w", buffering=1) as full:
        monkeypatch.setattr("sys.stderr", full)
        job.run()
        monkeypatch.undo()
        with contextlib.suppress(OSError):
            full.close()

    assert rows(state) == [("failed", 0, "no space left")]


def test_the_report_says_how_far_it_is_and_what_hinders_it(
    job: LiveJob, store: MoodyStore, data: DataFolder, clock: FakeClock
) -> None:
    job.run()
    report = read_progress(data)
    assert report is not None
    assert (report.hosts[0].host, report.hosts[0].windows, report.error) == ("h1", 5, None)
    assert report.running(clock.wall_ns())

    store.trouble = StorageError("the disk is gone")
    clock.advance(1)
    job.run()
    report = read_progress(data)
    assert report is not None
    assert report.error == "the disk is gone"


def test_a_report_counts_as_running_only_while_it_is_young(
    job: LiveJob, data: DataFolder, clock: FakeClock
) -> None:
    job.run()
    report = read_progress(data)
    assert report is not None

    assert report.running(clock.wall_ns() + 9 * SECOND_NS)
    assert not report.running(clock.wall_ns() + 10 * SECOND_NS)


class Waits(threading.Event):
    """Does what is `then` to be done at each wait, and is set after that."""

    def __init__(self, *then: Callable[[], None]) -> None:
        super().__init__()
        self._then = list(then)
        self.waited: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waited.append(timeout)
        if not self._then:
            return True
        self._then.pop(0)()
        return False


def nothing() -> None:
    pass


def test_following_runs_until_told_to_stop_and_ends_the_row(job: LiveJob, state: sqlite3.Connection) -> None:
    job.follow(Waits())
    assert rows(state) == []

    job.follow(Waits(nothing, nothing))
    assert rows(state) == [("ok", 5, None)]


def test_a_second_alone_is_followed_by_a_rest(job: LiveJob, write: Write) -> None:
    waits = Waits(nothing, lambda: write(5, 6), nothing, lambda: write(6, 8))
    job.follow(waits)

    assert waits.waited == [POLL_SECONDS, POLL_SECONDS, REST_SECONDS, POLL_SECONDS, POLL_SECONDS]


def test_a_second_of_one_host_among_others_is_not(job: LiveJob, write: Write) -> None:
    write(0, 5, host="h2")
    waits = Waits(nothing, lambda: write(5, 6))
    job.follow(waits)

    assert waits.waited == [POLL_SECONDS] * 3
