"""The drain against a server that does what a test says."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostsight.clock import SECOND_NS, FakeClock
from hostsight.errors import RefusedError, StoreUnavailableError
from hostsight.folders import DataFolder
from hostsight.settings import InfluxSettings, Size
from ingest.influx.drain import Drain
from ingest.influx.position import Position, Positions, target
from ingest.influx.rejected import Rejected
from ingest.influx.rejected_files import newest_words, rejected_files
from ingest.segment import SegmentName, list_segments
from migrations import open_state
from tests.unit.storage.makers import HOST, T0, flip, readers, second, tick, writer

SETTINGS = InfluxSettings(request_values=150)


class FakeServer:
    """Keeps what it is sent; refuses lines that hold one of `refused`; `away` answers nothing."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.refused: set[str] = set()
        self.away = False

    def write(self, lines: bytes) -> None:
        text = lines.decode()
        if self.away:
            raise StoreUnavailableError("away")
        if any(word in text for word in self.refused):
            raise RefusedError("refused", words="field type conflict")
        self.requests.append(text)

    @property
    def samples(self) -> list[str]:
        return [line for text in self.requests for line in text.splitlines() if line.startswith("cpu,")]

    @property
    def marks(self) -> list[int]:
        """Seconds after T0 that were said to be complete."""
        lines = [text for text in self.requests if text.startswith("hostsight_progress,")]
        return [int(line.partition("until=")[2].split()[0]) - T0 // SECOND_NS for line in lines]


@pytest.fixture
def state(data: DataFolder) -> Iterator[sqlite3.Connection]:
    connection = open_state(data.state_db)
    yield connection
    connection.close()


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


def make(data: DataFolder, state: sqlite3.Connection, settings: InfluxSettings = SETTINGS) -> Drain:
    clock = FakeClock(T0 + 3600 * SECOND_NS)
    return Drain(settings, data, Positions(state, target(settings)), clock, lambda _: clock.wall_ns())


def drain(one: Drain, server: FakeServer) -> None:
    while one.step(server):
        pass


def stamps(server: FakeServer) -> list[int]:
    return [int(line.rsplit(" ", 1)[1]) for line in server.samples]


def test_batches_go_in_the_order_of_collection_and_the_last_is_followed_by_a_mark(
    data: DataFolder, state: sqlite3.Connection, server: FakeServer
) -> None:
    spool = writer(data)
    for at in range(12):
        second(spool, at)
    drain(make(data, state), server)
    assert stamps(server) == sorted(stamps(server))
    assert len(server.samples) == 12 * 10 * 3
    assert server.marks[-1] == 12
    assert server.requests[-1].startswith("hostsight_progress,host=gpu01 until=")
    assert server.requests[0].startswith("hostsight_channels,host=gpu01,subsystem=cpu part0=")


def test_a_long_backlog_is_marked_once_a_second(
    data: DataFolder, state: sqlite3.Connection, server: FakeServer
) -> None:
    spool, clock = writer(data), FakeClock(T0 + 3600 * SECOND_NS)
    for at in range(20):
        second(spool, at)
    one = Drain(SETTINGS, data, Positions(state, target(SETTINGS)), clock, lambda _: clock.wall_ns())
    while one.step(server):
        clock.advance(0.6)
    assert server.marks == [15, 20]


def test_a_restart_goes_on_where_the_last_one_stopped(
    data: DataFolder, state: sqlite3.Connection, server: FakeServer
) -> None:
    spool = writer(data)
    second(spool, 0)
    drain(make(data, state), server)
    second(spool, 1)
    drain(make(data, state), server)
    assert len(server.samples) == 60
    assert server.marks == [1, 2]


def test_another_bucket_gets_the_spool_from_its_start(
    data: DataFolder, state: sqlite3.Connection, server: FakeServer
) -> None:
    second(writer(data), 0)
    drain(make(data, state), server)
    drain(make(data, state, InfluxSettings(bucket="other")), server)
    assert len(server.samples) == 60


def test_a_server_that_is_away_gets_the_same_batch_again(
    data: DataFolder, state: sqlite3.Connection, server: FakeServer
) -> None:
    second(writer(data), 0)
    one = make(data, state)
    server.away = True
    for _ in range(3):
        with pytest.raises(StoreUnavailableError):
            one.step(server)
    server.away = False
    drain(one, server)
    assert len(server.samples) == 30


def test_a_failure_in_the_middle_of_a_backlog_changes_neither_order_nor_number(
    data: DataFolder, state: sqlite3.Connection, server: FakeServer
) -> None:
    spool = writer(data)
    for at in range(0, 130):
        second(spool, at)
    one = make(data, state)
    for step in range(40):
        server.away = step % 3 == 1
        if server.away:
            with pytest.raises(StoreUnavailableError):
                one.step(server)
        else:
            one.step(server)
    drain(one, server)
    assert len(server.samples) == 130 * 30
    assert stamps(server) == sorted(stamps(server))
    assert one.hosts()[0].sent_values == 130 * 30


def test_a_refused_second_is_set_aside_and_the_others_of_its_request_are_sent(
    data: DataFolder, state: sqlite3.Connection, server: FakeServer
) -> None:
    spool = writer(data)
    for at in range(5):
        second(spool, at)
    server.refused = {f"busy_percent=200 {T0 + 2_050_000_000}"}
    one = make(data, state)
    drain(one, server)
    (host,) = one.hosts()
    assert (host.rejected_batches, host.rejected_values, host.sent_values) == (1, 30, 120)
    assert server.marks == [5]
    ((path, _),) = rejected_files(data.spool / "rejected")
    assert path.read_text().startswith("# field type conflict\ncpu,device=cpu0,")


def test_a_second_that_the_agent_left_in_the_middle_is_sent_but_not_said_to_be_complete(
    data: DataFolder, state: sqlite3.Connection, server: FakeServer
) -> None:
    spool = writer(data)
    second(spool, 0)
    tick(spool, 1.1)
    spool.close()
    drain(make(data, state), server)
    assert len(server.samples) == 33
    assert server.marks == [1]


def test_segments_deleted_unsent_are_counted(
    data: DataFolder, state: sqlite3.Connection, server: FakeServer
) -> None:
    spool = writer(data)
    one = make(data, state)
    second(spool, 0)
    drain(one, server)
    for at in (60, 120, 180):
        second(spool, at)
    for name in list_segments(data.spool)[1:3]:
        (data.spool / str(name)).unlink()
    drain(one, server)
    assert one.hosts()[0].lost_segments == 2
    assert len(server.samples) == 60


def test_a_spool_that_was_emptied_by_hand_is_sent_from_its_new_start(
    data: DataFolder, state: sqlite3.Connection, server: FakeServer
) -> None:
    spool = writer(data)
    for at in (0, 60, 120):
        second(spool, at)
    drain(make(data, state), server)
    spool.close()
    for name in list_segments(data.spool):
        (data.spool / str(name)).unlink()
    second(writer(data), 180)
    drain(make(data, state), server)
    assert len(server.samples) == 4 * 30


def test_what_is_sent_is_deleted_but_for_ten_minutes_and_what_others_need(
    data: DataFolder, state: sqlite3.Connection, server: FakeServer
) -> None:
    spool = writer(data)
    for at in range(0, 1800, 60):
        second(spool, at)
    drain(make(data, state), server)
    assert next(name.start_ns for name in list_segments(data.spool)) == T0 + 1140 * SECOND_NS + 50_000_000


def test_a_damaged_batch_is_skipped_and_told(
    data: DataFolder, state: sqlite3.Connection, server: FakeServer
) -> None:
    spool = writer(data)
    for at in range(3):
        second(spool, at)
    (reader,) = readers(data)
    flip(reader.path, reader.frames[1].offset + 300)
    one = make(data, state)
    drain(one, server)
    assert len(server.samples) == 60
    (problem,) = one.problems
    assert "is damaged in 1 places; the rest was read" in problem


def test_positions_are_of_one_target(state: sqlite3.Connection) -> None:
    Positions(state, "a").put(Position(HOST, 3, 800, 5 * SECOND_NS, sent_values=7), 1)
    assert Positions(state, "a").get(HOST) == Position(HOST, 3, 800, 5 * SECOND_NS, sent_values=7)
    assert Positions(state, "b").get(HOST) == Position(HOST)


def test_rejected_batches_are_bounded_and_the_oldest_go(data: DataFolder) -> None:
    rejected = Rejected(data, Size(100))
    for number in range(5):
        rejected.set_aside(SegmentName(number, HOST, T0), 0, b"x" * 30, "why\nmore")
    files = list(rejected_files(rejected.folder))
    assert [path.name[:10] for path, _ in files] == ["0000000003", "0000000004"]
    assert rejected.deleted == 3
    assert newest_words(files) == "why"


def test_no_rejected_files_have_no_words(tmp_path: Path) -> None:
    assert list(rejected_files(tmp_path / "none")) == []
    assert newest_words([]) == ""
