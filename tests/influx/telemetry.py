"""Telemetry in a spool, its drain, and what comes back."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hostsight.channel import Channel
from hostsight.clock import SECOND_NS, SystemClock
from hostsight.folders import DataFolder
from hostsight.settings import InfluxSettings, Settings, SpoolSettings
from hostsight.timerange import TimeRange
from ingest.embedded import EmbeddedStore
from ingest.influx.drain import Drain, Writer
from ingest.influx.position import Positions, target
from ingest.influx.store import InfluxStore
from ingest.spool import SpoolWriter

HOST = "gpu01"
NOW_NS = time.time_ns() // SECOND_NS * SECOND_NS


def channels(count: int, host: str = HOST) -> tuple[Channel, ...]:
    """Ten metrics a device."""
    return tuple(
        Channel(host, "network", f"eth{index // 10}", f"m{index % 10}_bytes_per_s", "rate", "bytes/s", 0.1, "/proc/net/dev")
        for index in range(count)
    )  # fmt: skip


def spool(
    data: DataFolder,
    values: NDArray[np.float32],
    layout: Sequence[Channel],
    *,
    ticks_per_second: int = 10,
    start_ns: int | None = None,
) -> TimeRange:
    """Write `values` [ticks, channels] as the agent does, so that they end a minute ago; the whole seconds they cover."""
    writer = SpoolWriter(data, SpoolSettings(), layout[0].host)
    writer.open(layout)
    step_ns = SECOND_NS // ticks_per_second
    length_ns = -(-len(values) * step_ns // SECOND_NS) * SECOND_NS
    first_ns = NOW_NS - 60 * SECOND_NS - length_ns if start_ns is None else start_ns
    for index, row in enumerate(values):
        writer.append(first_ns + index * step_ns + 1 + index % 7, step_ns / SECOND_NS + index % 3 / 1000, row)
        if index % ticks_per_second == ticks_per_second - 1:
            writer.flush()
    writer.close()
    return TimeRange(first_ns, first_ns + length_ns)


def numbers(ticks: int, count: int, seed: int = 0) -> NDArray[np.float32]:
    """No two alike, a tenth of them absent."""
    rng = np.random.default_rng(seed)
    values = rng.normal(1000, 100, (ticks, count)).astype(np.float32)
    values[rng.random(values.shape) < 0.1] = np.nan
    return values


def make_drain(settings: InfluxSettings, data: DataFolder, state: sqlite3.Connection) -> Drain:
    """As after a start of its process."""
    return Drain(settings, data, Positions(state, target(settings)), SystemClock(), lambda _: NOW_NS)


def drain_all(drain: Drain, client: Writer) -> None:
    while drain.step(client):
        pass


def exported(settings: Settings, span: TimeRange, host: str = HOST) -> pa.Table:
    store = InfluxStore(settings, SystemClock())
    try:
        return store.export(host, span)
    finally:
        store.close()


def collected(settings: Settings, data: DataFolder, span: TimeRange, host: str = HOST) -> pa.Table:
    """What the spool itself holds."""
    return EmbeddedStore(data, settings).export(host, span)
