"""Ticks, segments and lake tables for tests: small, and with values that can be told apart."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hostsight.channel import Channel
from hostsight.clock import SECOND_NS
from hostsight.folders import DataFolder
from hostsight.settings import SpoolSettings
from hostsight.timerange import TimeRange
from ingest.embedded import EmbeddedStore
from ingest.lake import Lake
from ingest.pending import Pending
from ingest.segment import SegmentReader, Ticks, list_segments
from ingest.spool import SpoolWriter
from ingest.store import SAMPLES

T0 = 1_700_000_040 * SECOND_NS
"""The start of a minute: 2023-11-14 22:14:00."""
HOST = "gpu01"


def channels(count: int = 3, host: str = HOST) -> tuple[Channel, ...]:
    return tuple(
        Channel(host, "cpu", f"cpu{index}", "busy_percent", "rate", "%", 0.01, "/proc/stat")
        for index in range(count)
    )


def writer(data: DataFolder, settings: SpoolSettings | None = None, host: str = HOST) -> SpoolWriter:
    spool = SpoolWriter(data, settings or SpoolSettings(), host)
    spool.open(channels(host=host))
    return spool


def tick(spool: SpoolWriter, seconds: float, values: Sequence[float] = (1, 2, 3)) -> None:
    """Append one tick that lies `seconds` after T0."""
    spool.append(T0 + round(seconds * SECOND_NS), 0.1, np.array(values, np.float32))


def second(spool: SpoolWriter, at: int, *, ticks: int = 10, count: int = 3) -> None:
    """Append and flush the ticks of one second; channel c of tick k holds at * 100 + k + c / 10."""
    for k in range(ticks):
        tick(spool, at + k / 10 + 0.05, [at * 100 + k + c / 10 for c in range(count)])
    spool.flush()


def batch_frame(ticks: Ticks) -> bytes:
    """The frame of one batch."""
    pending = Pending(ticks.values.shape[1])
    for ts_ns, dt, values in zip(*ticks, strict=True):
        pending.append(ts_ns, dt, values)
    return pending.frame()


def readers(data: DataFolder) -> list[SegmentReader]:
    """A refreshed reader a segment, in the order of writing."""
    found = [SegmentReader(data.spool / str(name)) for name in list_segments(data.spool)]
    for reader in found:
        reader.refresh()
    return found


def stamps(data: DataFolder) -> list[float]:
    """Seconds after T0 of every tick that the spool gives back, in the order of writing."""
    found: list[float] = []
    for reader in readers(data):
        for frame in reader.frames:
            ticks = reader.read(frame)
            assert ticks is not None
            found += ((ticks.ts - T0) / SECOND_NS).tolist()
    return found


def whole_spool(store: EmbeddedStore, host: str = HOST) -> pa.Table:
    span = store.span(host)
    assert span is not None
    return store.export(host, span)


def samples(
    seconds: NDArray[np.float64], ids: Sequence[int] = (5, 7), values: NDArray[np.float32] | None = None
) -> pa.Table:
    """SAMPLES with a row a channel and stamp (seconds after T0), sorted; the value is the second unless given."""
    ts = (np.asarray(seconds) * SECOND_NS).astype(np.int64) + T0
    content = np.tile(np.asarray(seconds, np.float32), len(ids)) if values is None else values
    return pa.table(
        [
            pa.array(np.tile(ts, len(ids))).view(pa.timestamp("ns")),
            pa.array(np.repeat(np.array(ids, np.int64), len(ts))),
            pa.array(content, pa.float32()),
            pa.array(np.full(len(ts) * len(ids), 0.1, np.float32)),
        ],
        schema=SAMPLES,
    )


def flip(path: Path, offset: int, bit: int = 3) -> None:
    """Flip one bit of a file, as a failing disk does."""
    content = bytearray(path.read_bytes())
    content[offset] ^= 1 << bit
    path.write_bytes(content)


def span(start: float, end: float) -> TimeRange:
    """From `start` to `end`, in seconds after T0."""
    return TimeRange(T0 + round(start * SECOND_NS), T0 + round(end * SECOND_NS))


def features(seconds: Sequence[float], ids: Sequence[int] = (5, 7)) -> pa.Table:
    """A row a channel and window end (seconds after T0), sorted; the mean is the second."""
    ends = [T0 + round(at * SECOND_NS) for at in seconds]
    return pa.table(
        {
            "window_end": pa.array(ends * len(ids), pa.timestamp("ns")),
            "channel_id": pa.array([one for one in ids for _ in ends], pa.int64()),
            "mean": pa.array([float(at) for _ in ids for at in seconds], pa.float32()),
        }
    )


def write_seconds(lake: Lake, start: int, end: int, *, host: str = HOST) -> None:
    """A file of samples a second, ten ticks of two channels each."""
    for at in range(start, end):
        lake.write("samples", host, span(at, at + 1), samples(np.arange(10) / 10 + at))


def age_files(lake: Lake, now_ns: int, seconds: float) -> None:
    """Make all files of the lake `seconds` old at `now_ns`."""
    stamp = now_ns - round(seconds * SECOND_NS)
    for path in lake.root.rglob("*"):
        if path.is_file():
            os.utime(path, ns=(stamp, stamp))
