"""Backlogs at full size, against a real server: what `test_scale.py` does in miniature. Minutes; run by hand.

    python -m tests.influx.full_size backlog              an hour of 700 channels at 100 ms, drained at once
    python -m tests.influx.full_size fleet [TICK_SECONDS] an hour of ten such hosts in turns, and read back by one store

It prints a JSON line for each tenth of the way (values so far, values a second, resident memory), and fails where a value is
missing.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import psutil

from hostsight.clock import SECOND_NS, SystemClock
from hostsight.folders import DataFolder
from hostsight.settings import InfluxSettings, Settings, SpoolSettings
from hostsight.timerange import TimeRange
from ingest.influx.client import InfluxClient
from ingest.influx.drain import Drain
from ingest.influx.store import InfluxStore
from ingest.spool import SpoolWriter
from migrations import open_state
from tests.influx.conftest import new_bucket
from tests.influx.server import V2, Server
from tests.influx.telemetry import channels, make_drain

HOUR_SECONDS = 3600
CHANNELS = 700
MINUTE_NS = 60 * SECOND_NS
START_NS = (time.time_ns() // MINUTE_NS - 61) * MINUTE_NS


class Progress:
    """Says how far it is, ten times."""

    def __init__(self, what: str, whole: int) -> None:
        self._what = what
        self._whole = whole
        self._began = time.perf_counter()
        self._next = whole // 10

    def reached(self, values: int) -> None:
        if values >= self._next:
            self._next += self._whole // 10
            seconds = time.perf_counter() - self._began
            rss = psutil.Process().memory_info().rss
            print(json.dumps({"what": self._what, "values": values, "values_per_s": round(values / seconds), "rss_mib": round(rss / 2**20, 1)}), flush=True)  # fmt: skip


def fill(data: DataFolder, host: str, tick_ns: int) -> int:
    """What an agent leaves in an hour; gives how many values."""
    rng, ticks = np.random.default_rng(0), HOUR_SECONDS * SECOND_NS // tick_ns
    levels = rng.lognormal(5, 3, CHANNELS)
    with closing(SpoolWriter(data, SpoolSettings(), host)) as writer:
        writer.open(channels(CHANNELS, host))
        for number in range(ticks):
            at_ns = START_NS + number * tick_ns
            values = levels * (1 + 0.05 * rng.standard_normal(CHANNELS))
            writer.append(at_ns, tick_ns / SECOND_NS, values.astype(np.float32))
            if (at_ns + tick_ns) % SECOND_NS == 0:
                writer.flush()
    return ticks * CHANNELS


def drained(drains: list[Drain], client: InfluxClient, whole: int) -> None:
    progress = Progress("drain", whole)
    while sum(drain.step(client) for drain in drains):
        progress.reached(sent(drains))
    assert sent(drains) == whole, f"{sent(drains)} of {whole} values were sent"


def sent(drains: list[Drain]) -> int:
    return sum(host.sent_values for drain in drains for host in drain.hosts())


def read_back(influx: InfluxSettings, hosts: list[str], whole: int) -> None:
    """As a job that catches up: a minute of each host in turn."""
    progress, values = Progress("export", whole), 0
    with closing(InfluxStore(Settings(influx=influx), SystemClock())) as store:
        assert store.hosts() == hosts
        for minute in range(HOUR_SECONDS // 60):
            start_ns = START_NS + minute * MINUTE_NS
            for host in hosts:
                values += store.export(host, TimeRange(start_ns, start_ns + MINUTE_NS)).num_rows
                progress.reached(values)
    assert values == whole, f"{values} of {whole} values came back"


def run(hosts: list[str], tick_ns: int) -> None:
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hostsight-full-")))
        server = Server(root / "server", V2).start()
        stack.callback(server.kill)
        server.setup()
        influx = new_bucket(server)
        folders = [DataFolder(root / host).create() for host in hosts]
        whole = sum(fill(data, host, tick_ns) for data, host in zip(folders, hosts, strict=True))
        states = [stack.enter_context(closing(open_state(data.state_db))) for data in folders]
        drains = [make_drain(influx, data, state) for data, state in zip(folders, states, strict=True)]
        for drain in drains:
            stack.callback(drain.close)
        drained(drains, stack.enter_context(InfluxClient(influx)), whole)
        read_back(influx, hosts, whole)


if __name__ == "__main__":
    if sys.argv[1] == "backlog":
        run(["gpu00"], SECOND_NS // 10)
    else:
        tick_seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0.1
        run([f"gpu{number:02d}" for number in range(10)], round(tick_seconds * SECOND_NS))
