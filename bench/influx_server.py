"""The InfluxDB that a benchmark measures against: one of its own on a free loopback port, or one that is there already."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import msgspec

from hostsight.errors import StoreUnavailableError, UnavailableError
from hostsight.settings import Duration, InfluxSettings, Secret
from ingest.influx.client import InfluxClient
from ingest.influx.setup import set_up
from ingest.influx.version import Version, identify

VERSION = "2.8.0"
_START_SECONDS = 60.0


def binary() -> Path:
    """Where `tests/influx/build` puts the server."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "hostsight" / "influxdb" / f"influxd-{VERSION}"


@contextmanager
def own_server(settings: InfluxSettings) -> Iterator[InfluxSettings]:
    """Settings of a new, empty server in a temporary folder. Raises UnavailableError where there is no binary."""
    if not binary().exists():
        raise UnavailableError(
            f"there is no InfluxDB {VERSION} at {binary()}; make it by tests/influx/build, or name a running one by --url"
        )
    with tempfile.TemporaryDirectory(prefix="hostsight-bench-") as folder, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        with subprocess.Popen(
            _command(Path(folder), port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as server:
            try:
                token = secrets.token_hex(16)
                chosen = msgspec.structs.replace(
                    settings, url=f"http://127.0.0.1:{port}", token=Secret(token), token_file="", org="bench"
                )
                _initialise(chosen)
                yield chosen
            finally:
                server.kill()


def _command(folder: Path, port: int) -> list[str]:
    return [
        str(binary()), "--bolt-path", f"{folder}/b.bolt", "--engine-path", f"{folder}/engine",
        "--sqlite-path", f"{folder}/s.sqlite", "--http-bind-address", f"127.0.0.1:{port}",
        "--reporting-disabled", "--log-level", "error",
    ]  # fmt: skip


def _initialise(settings: InfluxSettings) -> None:
    """Wait until it answers, then make its first user and token."""
    first = {"username": "bench", "password": secrets.token_hex(16), "org": settings.org, "bucket": "first",
             "token": settings.token.reveal()}  # fmt: skip
    deadline = time.monotonic() + _START_SECONDS
    with InfluxClient(settings) as client:
        while True:
            try:
                if client.ask("POST", "/api/v2/setup", json.dumps(first).encode()).status < 300:
                    return
            except StoreUnavailableError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.1)


@contextmanager
def new_bucket(settings: InfluxSettings) -> Iterator[InfluxSettings]:
    """A bucket (with 1.x a database) that is there for as long as the context. Raises StoreUnavailableError."""
    chosen = msgspec.structs.replace(
        settings, bucket=f"hostsight-bench-{secrets.token_hex(4)}", retention=Duration(0)
    )
    with InfluxClient(chosen) as client:
        version = identify(client)
        list(set_up(client))
        try:
            yield chosen
        finally:
            _drop(client, version)


def _drop(client: InfluxClient, version: Version) -> None:
    name = client.settings.bucket
    if version.major == 1:
        statement = f'DROP DATABASE "{name}"'
        client.ask("POST", f"/query?{urlencode({'q': statement})}")
        return
    found = client.ask("GET", f"/api/v2/buckets?{urlencode({'name': name})}").document()
    for bucket in found.get("buckets", []):
        client.ask("DELETE", f"/api/v2/buckets/{bucket['id']}")
