"""A bucket that telegraf fills: its hosts, and their points as readings of hostsight's channels.

Which measurement, field and tag is which channel stands in `telegraf.toml`. Counters come as telegraf holds them, as
numbers that grow: `sql/rates.sql` makes rates of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hostsight.channel import Channel
from hostsight.timerange import TimeRange
from ingest.influx.answer import blocks
from ingest.influx.client import InfluxClient
from ingest.influx.hosts import read_progress
from ingest.influx.names import flux_since, flux_string, flux_time, parse_stamp_ns
from ingest.influx.telegraf_map import Points, Reading, mapping

READINGS = pa.schema(
    [
        pa.field("ts", pa.timestamp("ns"), nullable=False),
        pa.field("channel_id", pa.int64(), nullable=False),
        pa.field("series", pa.int32(), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
        pa.field("counter", pa.bool_(), nullable=False),
    ]
)
"""One row a point and channel. `series` tells apart the counters that make up one channel."""

MARKERS = {
    "system": "load1",
    "mem": "available",
    "cpu": "usage_idle",
    "kernel": "context_switches",
    "nvidia_smi": "utilization_gpu",
    "disk": "used_percent",
    "diskio": "io_time",
    "net": "bytes_recv",
    "netstat": "tcp_established",
    "processes": "total",
    "infiniband": "port_rcv_data",
}
"""By the newest of these a host's newest point is known; some hosts have few of them."""

_STAMP = pa.timestamp("ns", "UTC")
_TEXT = pa.dictionary(pa.int32(), pa.string())
_OWN = {"", "result", "table", "_time", "_measurement"}


class Readings(NamedTuple):
    """`table`: READINGS.  channels: those it has, by id."""

    table: pa.Table
    channels: dict[int, Channel]


def first_stamps(client: InfluxClient) -> dict[str, int]:
    """By host, the oldest point, ns. Raises as `InfluxClient.rows` does."""
    return _edges(client, 0, "first")


def newest_stamps(client: InfluxClient, since_ns: int) -> dict[str, int]:
    """By host, the newest point since `since_ns`, ns. Raises as `InfluxClient.rows` does."""
    return _edges(client, since_ns, "last")


def kept_by_telegraf(client: InfluxClient) -> bool:
    """Whether the bucket has points of telegraf and none of a hostsight agent. Raises as `InfluxClient.rows` does."""
    return not read_progress(client, 0) and bool(newest_stamps(client, 0))


def absence(client: InfluxClient) -> str | None:
    """A sentence where the bucket has no points of telegraf. Raises as `InfluxClient.rows` does."""
    if newest_stamps(client, 0):
        return None
    bucket = client.settings.bucket
    if read_progress(client, 0):
        return f"bucket '{bucket}' holds telemetry of hostsight's own agents, and none of telegraf; use --store influx, or name telegraf's bucket as [influx] bucket"
    return f"bucket '{bucket}' has no points of telegraf yet; let telegraf write to it, or name its bucket as [influx] bucket"


def _edges(client: InfluxClient, since_ns: int, edge: Literal["first", "last"]) -> dict[str, int]:
    wanted = " or ".join(
        f"(r._measurement == {flux_string(name)} and r._field == {flux_string(field)})"
        for name, field in MARKERS.items()
    )
    rows = client.rows(
        flux_since(client.settings.bucket, since_ns)
        + f' |> filter(fn: (r) => {wanted}) |> {edge}() |> keep(columns: ["host", "_time"])'
    )
    found: dict[str, int] = {}
    for row in rows:
        if row.get("host"):
            stamp_ns = parse_stamp_ns(row["_time"])
            known_ns = found.get(row["host"], stamp_ns)
            found[row["host"]] = min(known_ns, stamp_ns) if edge == "first" else max(known_ns, stamp_ns)
    return found


def read(client: InfluxClient, host: str, span: TimeRange, period_seconds: float) -> Readings:
    """All that is mapped of `host` in `span`. Raises StoreUnavailableError, StorageError."""
    parts = _Parts(host, period_seconds)
    for block in blocks(client.query(flux(client.settings.bucket, host, span)), _type):
        for rows in _tables(block):
            parts.add(rows)
    return parts.readings()


def flux(bucket: str, host: str, span: TimeRange) -> str:
    """One query for all measurements: a row a point, a column a field; tags that decide nothing are dropped."""
    kinds = [points for group in mapping().values() for points in group]
    wanted = " or ".join(_wanted(name, group) for name, group in mapping().items())
    kept = sorted(
        {"_time", "_field", "_value", "_measurement", *(tag for points in kinds for tag in points.tags)}
    )
    return (
        f"from(bucket: {flux_string(bucket)})"
        f" |> range(start: {flux_time(span.start_ns)}, stop: {flux_time(span.end_ns)})"
        f" |> filter(fn: (r) => r.host == {flux_string(host)} and ({wanted}))"
        f" |> keep(columns: [{', '.join(map(flux_string, kept))}])"
        ' |> pivot(rowKey: ["_time"], columnKey: ["_field"], valueColumn: "_value")'
    )


def _wanted(measurement: str, kinds: Sequence[Points]) -> str:
    fields = sorted({field for points in kinds for field in points.fields})
    any_field = " or ".join(f"r._field == {flux_string(field)}" for field in fields)
    return f"(r._measurement == {flux_string(measurement)} and ({any_field}))"


def _type(name: str) -> pa.DataType:
    if name == "_time":
        return _STAMP
    return _TEXT if name in _OWN or name in _tags() else pa.float64()


@lru_cache(maxsize=1)
def _tags() -> frozenset[str]:
    return frozenset(tag for group in mapping().values() for points in group for tag in points.tags)


def _tables(block: pa.Table) -> Iterator[pa.Table]:
    """The rows of each set of tags."""
    block = block.combine_chunks()
    numbers = block["table"].combine_chunks().cast(pa.string()).dictionary_encode().indices.to_numpy()
    starts = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
    for start, end in zip(starts, [*starts[1:], block.num_rows], strict=True):
        yield block.slice(start, end - start)


class _Parts:
    """Gathers the readings of one answer."""

    def __init__(self, host: str, period_seconds: float) -> None:
        self._host = host
        self._period_seconds = period_seconds
        self._series: dict[tuple[str, ...], int] = {}
        self._channels: dict[int, Channel] = {}
        self._tables: list[pa.Table] = []

    def add(self, rows: pa.Table) -> None:
        """Rows of one measurement and one set of tags."""
        measurement = rows["_measurement"][0].as_py()
        tags = {name: rows[name][0].as_py() or "" for name in rows.column_names if name in _tags()}
        key = (measurement, *(f"{name}={value}" for name, value in sorted(tags.items())))
        series = self._series.setdefault(key, len(self._series))
        for points in mapping()[measurement]:
            device = points.device_of(tags)
            if device is not None:
                for reading in points.readings:
                    self._add(rows, points, device, reading, series)

    def _add(self, rows: pa.Table, points: Points, device: str, reading: Reading, series: int) -> None:
        if not reading.terms.keys() <= set(rows.column_names):
            return
        values = _values(rows, reading)
        present = np.isfinite(values) & (values >= 0)  # -1 is telegraf's, and the kernel's, word for unknown
        if not present.any():
            return
        channel = self._channel(points, device, reading)
        count = int(present.sum())
        columns = [
            rows["_time"]
            .combine_chunks()
            .cast(pa.int64())
            .filter(pa.array(present))
            .view(pa.timestamp("ns")),
            pa.array(np.full(count, channel.id, np.int64)),
            pa.array(np.full(count, series, np.int32)),
            pa.array(values[present]),
            pa.array(np.full(count, reading.counter)),
        ]
        self._tables.append(pa.table(columns, schema=READINGS))

    def _channel(self, points: Points, device: str, reading: Reading) -> Channel:
        source = f"telegraf {points.measurement} {' '.join(reading.terms)}"
        channel = Channel(
            self._host, points.subsystem, device, reading.metric, "rate" if reading.counter else "gauge",
            reading.unit, self._period_seconds, source,
        )  # fmt: skip
        return self._channels.setdefault(channel.id, channel)

    def readings(self) -> Readings:
        table = pa.concat_tables(self._tables) if self._tables else READINGS.empty_table()
        return Readings(table, self._channels)


def _values(rows: pa.Table, reading: Reading) -> NDArray[np.float64]:
    """[rows]; NaN where a field is absent. Rounding may leave a share of time just below 0."""
    total = np.full(rows.num_rows, reading.offset)
    for field, factor in reading.terms.items():
        total += factor * rows[field].combine_chunks().to_numpy(zero_copy_only=False)
    return np.where((total < 0) & (total > -1e-6), 0.0, total)
