"""Nothing that goes wrong with the server loses a sample or stores one twice."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hostsight.clock import SystemClock
from hostsight.errors import StoreUnavailableError
from hostsight.folders import DataFolder
from hostsight.settings import InfluxSettings, Secret, Settings
from hostsight.timerange import TimeRange
from ingest.influx.client import InfluxClient
from ingest.influx.store import InfluxStore
from ingest.lake import Lake
from jobs.materialise import Materialiser
from tests.influx.conftest import new_bucket
from tests.influx.server import Server
from tests.influx.telemetry import (
    HOST,
    channels,
    collected,
    drain_all,
    exported,
    make_drain,
    numbers,
    spool,
)


def rows_twice(table: pa.Table) -> int:
    return len(table) - len(table.group_by(["channel_id", "ts"]).aggregate([]))


def test_what_was_collected_while_the_server_was_stopped_is_sent_once_it_is_back(
    own_server: Server, data: DataFolder, state: sqlite3.Connection
) -> None:
    influx = new_bucket(own_server)
    drain, settings = make_drain(influx, data, state), Settings(influx=influx)
    values = numbers(900, 30)
    before = spool(data, values[:150], channels(30))
    with InfluxClient(influx) as client:
        drain_all(drain, client)
        own_server.stop()
        during = spool(data, values[150:750], channels(30), start_ns=before.end_ns)
        with pytest.raises(StoreUnavailableError, match=r"cannot be reached .*refused"):
            drain.step(client)
        own_server.start()
        after = spool(data, values[750:], channels(30), start_ns=during.end_ns)
        drain_all(drain, client)
    whole = TimeRange(before.start_ns, after.end_ns)
    back = exported(settings, whole)
    assert len(pc.unique(back["ts"])) == 900
    assert back.equals(collected(settings, data, whole))


class KilledWhileWriting:
    """Kills the server while its fourth write is under way."""

    def __init__(self, client: InfluxClient, server: Server) -> None:
        self._client = client
        self._server = server
        self.writes = 0

    def write(self, lines: bytes) -> None:
        self.writes += 1
        if self.writes != 4:
            self._client.write(lines)
            return
        killer = threading.Timer(0.004, self._server.kill)
        killer.start()
        try:
            self._client.write(lines)
        finally:
            killer.join()


def test_a_server_killed_in_the_middle_of_a_write_loses_nothing_and_the_lake_has_no_row_twice(
    own_server: Server, data: DataFolder, state: sqlite3.Connection
) -> None:
    influx = new_bucket(own_server, request_values=3000)
    settings = Settings(influx=influx)
    span = spool(data, numbers(300, 100), channels(100))
    drain = make_drain(influx, data, state)
    with InfluxClient(influx) as client:
        killed = KilledWhileWriting(client, own_server)
        with pytest.raises(StoreUnavailableError):
            drain_all(drain, killed)
        assert killed.writes >= 4
        own_server.start()
        drain_all(drain, killed)
    assert exported(settings, span).equals(collected(settings, data, span))
    lake = materialised(settings, data, state, span)
    assert lake.num_rows == collected(settings, data, span).num_rows
    assert rows_twice(lake) == 0


def materialised(
    settings: Settings, data: DataFolder, state: sqlite3.Connection, span: TimeRange
) -> pa.Table:
    """The lake's samples, as `serve` makes them from InfluxDB."""
    store = InfluxStore(settings, SystemClock())
    materialiser = Materialiser(settings, data, store, state)
    while materialiser.run(SystemClock().wall_ns()):
        pass
    materialiser.close()
    store.close()
    return Lake(data).read("samples", HOST, span)


class CrashError(Exception):
    """Stands for kill -9."""


def test_a_drain_killed_between_write_and_commit_sends_the_same_points_again(
    influx: InfluxSettings, data: DataFolder, state: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(influx=influx)
    span = spool(data, numbers(100, 50), channels(50))
    drain = make_drain(influx, data, state)

    def crash(*_: object) -> None:
        raise CrashError

    with InfluxClient(influx) as client:
        with monkeypatch.context() as patch:
            patch.setattr("ingest.influx.drain.Drain._commit", crash)
            with pytest.raises(CrashError):
                drain.step(client)
        assert exported(settings, span).num_rows > 0
        drain_all(make_drain(influx, data, state), client)
    assert exported(settings, span).equals(collected(settings, data, span))


def test_a_wrong_token_keeps_everything_in_the_spool_and_is_not_shown(
    influx: InfluxSettings, v2: Server, data: DataFolder, state: sqlite3.Connection
) -> None:
    span = spool(data, numbers(100, 10), channels(10))
    drain = make_drain(influx, data, state)
    wrong = v2.settings(influx.bucket, token=Secret("not-the-token-at-all"))
    with InfluxClient(wrong) as client:
        with pytest.raises(StoreUnavailableError, match="does not accept the token") as raised:
            drain.step(client)
        with pytest.raises(StoreUnavailableError, match="does not accept the token"):
            client.rows("buckets()")
    assert "not-the-token" not in str(raised.value)
    assert "HOSTSIGHT_INFLUX_TOKEN" in str(raised.value)
    with InfluxClient(influx) as client:
        drain_all(drain, client)
    settings = Settings(influx=influx)
    assert exported(settings, span).equals(collected(settings, data, span))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 30 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=30m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_server_whose_disk_is_full_gets_what_waited_once_there_is_room(
    small_disk: Path, own_server: Server, data: DataFolder, state: sqlite3.Connection
) -> None:
    influx = new_bucket(own_server)
    own_server.stop()
    engine = own_server.folder / "engine"
    shutil.move(engine, small_disk / "engine")
    engine.symlink_to(small_disk / "engine")
    own_server.start()
    drain, settings = make_drain(influx, data, state), Settings(influx=influx)
    values = numbers(800, 50)
    first = spool(data, values[:200], channels(50))
    filler = small_disk / "filler"
    with InfluxClient(influx) as client:
        drain_all(drain, client)
        filler.write_bytes(b"x" * (psutil.disk_usage(str(small_disk)).free - 4096))
        then = spool(data, values[200:], channels(50), start_ns=first.end_ns)
        with pytest.raises(StoreUnavailableError, match="no space left"):
            drain_all(drain, client)
        filler.unlink()
        own_server.stop()  # 2.8 goes on failing until it is started again
        own_server.start()
        drain_all(drain, client)
    span = TimeRange(first.start_ns, then.end_ns)
    assert exported(settings, span).equals(collected(settings, data, span))
