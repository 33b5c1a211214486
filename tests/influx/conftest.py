"""Real InfluxDB servers. Where their binaries are missing these tests are left out and say so, or fail where
HOSTSIGHT_REQUIRE_INFLUXDB is set."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from hostsight.folders import DataFolder
from hostsight.settings import Duration, InfluxSettings, Settings
from ingest.influx.client import InfluxClient
from ingest.influx.setup import set_up
from migrations import open_state
from tests.influx.server import BINARIES, V1, V2, Server

REQUIRED = bool(os.environ.get("HOSTSIGHT_REQUIRE_INFLUXDB"))
_numbers = count()


def need(version: str) -> None:
    if (BINARIES / f"influxd-{version}").exists():
        return
    words = f"no InfluxDB {version} at {BINARIES}; tests/influx/build makes it (needs go and cargo, ten minutes once)"
    if REQUIRED:
        pytest.fail(words)
    pytest.skip(words)


def _server(version: str, folder: Path) -> Iterator[Server]:
    need(version)
    server = Server(folder, version).start()
    try:
        server.setup()
        yield server
    finally:
        server.kill()


@pytest.fixture(scope="session")
def v2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from _server(V2, tmp_path_factory.mktemp("influx2"))


@pytest.fixture(scope="session")
def v1(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from _server(V1, tmp_path_factory.mktemp("influx1"))


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """A server that a test may stop, kill and start; 2.x."""
    yield from _server(V2, tmp_path / "server")


@pytest.fixture
def influx(v2: Server) -> InfluxSettings:
    """A new bucket of the server that tests share, which keeps everything for ever."""
    return new_bucket(v2)


def bucket_name() -> str:
    """One that nothing has yet, and that needs quoting."""
    return f"tests {next(_numbers)}"


def new_bucket(server: Server, retention: float = 0.0, **changes: object) -> InfluxSettings:
    """Settings of a bucket (with 1.x of a database) that is there from now on."""
    name = bucket_name()
    if server.version == V1:
        name += "/some policy"
    settings = server.settings(name, retention=Duration(retention), lateness=Duration(0), **changes)
    with InfluxClient(settings) as client:
        list(set_up(client))
    return settings


@pytest.fixture
def settings(influx: InfluxSettings) -> Settings:
    return Settings(influx=influx)


@pytest.fixture
def state(data: DataFolder) -> Iterator[sqlite3.Connection]:
    connection = open_state(data.state_db)
    yield connection
    connection.close()
