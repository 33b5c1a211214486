"""Telemetry that is written to the spool as the agent would, at any time of a test's own choosing."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from hostsight.channel import Channel
from hostsight.clock import SECOND_NS
from hostsight.folders import DataFolder
from hostsight.settings import SpoolSettings
from ingest.spool import SpoolWriter
from migrations import open_state

START_NS = 1_700_000_000 * SECOND_NS
TICKS = 10


def channel(metric: str, device: str = "host", host: str = "h1") -> Channel:
    return Channel(host, "cpu", device, metric, "gauge", "percent", 0.1, "/proc/test")


CHANNELS = (channel("busy_percent"), channel("system_percent"), channel("user_percent", "cpu0"))

Write = Callable[..., None]


@pytest.fixture
def write(data: DataFolder) -> Iterator[Write]:
    """`write(first, last)`: seconds first..last-1 after START_NS, ten ticks each; `level` is the values' mean."""
    random = np.random.default_rng(7)
    writers: dict[str, SpoolWriter] = {}

    def write_seconds(first: int, last: int, level: float = 10.0, host: str = "h1") -> None:
        writer = writers.get(host)
        if writer is None:
            writer = writers[host] = SpoolWriter(data, SpoolSettings(), host)
            writer.open([channel(one.metric, one.device, host) for one in CHANNELS])
        for second in range(first, last):
            for tick in range(TICKS):
                stamp = START_NS + second * SECOND_NS + tick * SECOND_NS // TICKS
                values = random.normal(level, 1.0, len(CHANNELS)).astype(np.float32)
                writer.append(stamp, 0.1, values)
            writer.flush()

    yield write_seconds
    for writer in writers.values():
        writer.close()


@pytest.fixture
def state(data: DataFolder) -> Iterator[sqlite3.Connection]:
    connection = open_state(data.state_db)
    yield connection
    connection.close()
