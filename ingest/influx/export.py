"""Samples of a host out of InfluxDB, by time range.

A tick of a device is a row of the answer, and not a row a metric, which is faster to read. Flux with a pivot gives that on
every server; InfluxQL gives it several times as fast, in MessagePack, but finds a bucket by a mapping that may be missing, or lead
elsewhere, so it is trusted once it gave what Flux gives. Long ranges are asked for in pieces of at most an hour, by Flux of
one measurement, which bounds what the server holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hostsight.channel import SUBSYSTEMS, channel_id
from hostsight.clock import SECOND_NS
from hostsight.errors import StorageError, StoreUnavailableError
from hostsight.timerange import TimeRange
from ingest.influx.answer import blocks
from ingest.influx.client import InfluxClient
from ingest.influx.influxql import Question, answer, question
from ingest.influx.names import TICKS, flux_string, flux_time, quote_name, unquote_name
from ingest.influx.rows import Rows
from ingest.store import SAMPLES

PIECE_NS = 3600 * SECOND_NS
"""At most so much is asked for at once."""

TOGETHER_NS = 90 * SECOND_NS
"""Up to this length all measurements come in one answer: a query costs more than its rows then."""

TRIALS = 3
"""How often InfluxQL may give something else than Flux before it is left alone."""

_NOT_FIELDS = {"table", "_time", "_measurement", "device", "host"}

Key = tuple[str, str, str]
"""Subsystem, device and metric of a channel."""


class _Column(NamedTuple):
    """The samples of one channel in one block."""

    channel_id: int
    ts: NDArray[np.int64]
    values: NDArray[np.float32]


class Export(NamedTuple):
    """`samples` as SAMPLES, and which channels they are of."""

    samples: pa.Table
    channels: dict[int, Key]


class Exporter:
    """Exports through one client, the faster way where that can be trusted."""

    def __init__(self, client: InfluxClient) -> None:
        self._client = client
        self._trusted = False
        self._trials = TRIALS

    def export(self, host: str, span: TimeRange) -> Export:
        """All samples of `host` in `span`. Raises StoreUnavailableError, StorageError."""
        if self._trusted:
            try:
                return export_by_influxql(self._client, host, span)
            except (StoreUnavailableError, StorageError):
                self._trusted = False  # Flux says what is wrong, or does it
        found = export(self._client, host, span)
        if self._trials and found.samples.num_rows:
            self._try(host, span, found)
        return found

    def _try(self, host: str, span: TimeRange, found: Export) -> None:
        try:
            self._trusted = export_by_influxql(self._client, host, span).samples.equals(found.samples)
        except (StoreUnavailableError, StorageError):
            self._trusted = False
        self._trials = TRIALS if self._trusted else self._trials - 1


def export(client: InfluxClient, host: str, span: TimeRange) -> Export:
    """All samples of `host` in `span`, by Flux. Raises StoreUnavailableError, StorageError."""
    gathered = _Gathered(host)
    for flux in queries(client.settings.bucket, host, span):
        for block in blocks(client.query(flux)):
            for rows in _runs(block):
                gathered.add(rows)
    return gathered.export()


def export_by_influxql(client: InfluxClient, host: str, span: TimeRange) -> Export:
    """The same by InfluxQL."""
    gathered = _Gathered(host)
    for asked in questions(client.settings.bucket, host, span):
        for rows in answer(client, asked):
            gathered.add(rows)
    return gathered.export()


def questions(bucket: str, host: str, span: TimeRange) -> Iterator[Question]:
    """Requests of InfluxQL that together give all of `span`."""
    for piece in _pieces(span):
        yield question(bucket, host, piece, (*SUBSYSTEMS, TICKS))


class _Gathered:
    """What the rows of an answer are samples of."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._found: dict[int, Key] = {}
        self._columns: list[_Column] = []
        self._ticks: list[_Column] = []

    def add(self, rows: Rows) -> None:
        if rows.measurement == TICKS:
            self._ticks += _columns(rows, (0,))
        elif rows.measurement in SUBSYSTEMS and rows.device is not None:
            device = unquote_name(rows.device)
            keys = [(rows.measurement, device, unquote_name(name)) for name in rows.fields]
            ids = tuple(channel_id(self._host, *key) for key in keys)
            self._found.update(zip(ids, keys, strict=True))
            self._columns += _columns(rows, ids)

    def export(self) -> Export:
        return Export(_samples(self._columns, self._ticks), self._found)


def queries(bucket: str, host: str, span: TimeRange) -> Iterator[str]:
    """Flux that together gives all of `span`."""
    groups = (
        [(*SUBSYSTEMS, TICKS)]
        if span.end_ns - span.start_ns <= TOGETHER_NS
        else [(name,) for name in (*SUBSYSTEMS, TICKS)]
    )
    for piece in _pieces(span):
        for measurements in groups:
            yield pivoted(bucket, host, piece, measurements)


def _pieces(span: TimeRange) -> Iterator[TimeRange]:
    for start_ns in range(span.start_ns, span.end_ns, PIECE_NS):
        yield TimeRange(start_ns, min(span.end_ns, start_ns + PIECE_NS))


def pivoted(bucket: str, host: str, span: TimeRange, measurements: tuple[str, ...]) -> str:
    """A row a device and tick, a column a field; `_measurement` and `device` say whose."""
    wanted = " or ".join(f"r._measurement == {flux_string(name)}" for name in measurements)
    return (
        f"from(bucket: {flux_string(bucket)})"
        f" |> range(start: {flux_time(span.start_ns)}, stop: {flux_time(span.end_ns)})"
        f" |> filter(fn: (r) => r.host == {flux_string(quote_name(host))} and ({wanted}))"
        ' |> drop(columns: ["_start", "_stop", "host"])'
        ' |> pivot(rowKey: ["_time"], columnKey: ["_field"], valueColumn: "_value")'
    )


def _runs(block: pa.Table) -> Iterator[Rows]:
    """Each table in a block; fields without a value in it are left out."""
    block = block.combine_chunks()
    tables = block["table"].combine_chunks().cast(pa.string()).dictionary_encode().indices.to_numpy()
    starts = np.flatnonzero(np.diff(tables, prepend=-1)).tolist()
    for start, end in zip(starts, [*starts[1:], block.num_rows], strict=True):
        rows = block.slice(start, end - start)
        device = rows["device"][0].as_py() if "device" in rows.column_names else None
        fields = {
            name: rows[name].combine_chunks().to_numpy(zero_copy_only=False)
            for name in rows.column_names
            if name not in _NOT_FIELDS and rows[name].null_count < rows.num_rows
        }
        ts = rows["_time"].combine_chunks().cast(pa.int64()).to_numpy()
        yield Rows(rows["_measurement"][0].as_py(), device, ts, fields)


def _columns(rows: Rows, ids: tuple[int, ...]) -> Iterator[_Column]:
    for identity, values in zip(ids, rows.fields.values(), strict=True):
        finite = np.isfinite(values)
        if finite.all():
            yield _Column(identity, rows.ts, values)
        elif finite.any():
            yield _Column(identity, rows.ts[finite], values[finite])


def _samples(columns: list[_Column], ticks: list[_Column]) -> pa.Table:
    """SAMPLES, sorted; a channel has each time stamp once."""
    if not columns:
        return SAMPLES.empty_table()
    columns = sorted(columns, key=lambda column: (column.channel_id, column.ts[0]))
    ts = np.concatenate([column.ts for column in columns])
    ids = np.repeat([column.channel_id for column in columns], [len(column.ts) for column in columns])
    values = np.concatenate([column.values for column in columns])
    dt = _lengths(columns, ticks)
    if np.any((np.diff(ts) <= 0) & (np.diff(ids) == 0)):
        order = np.lexsort((ts, ids))
        first = order[np.append(True, (np.diff(ts[order]) != 0) | (np.diff(ids[order]) != 0))]
        ts, ids, values, dt = ts[first], ids[first], values[first], dt[first]
    return pa.table(
        [
            pa.array(ts).view(pa.timestamp("ns")),
            pa.array(ids, pa.int64()),
            pa.array(values),
            pa.array(np.where(np.isnan(dt), _usual_distance(ts), dt) if np.isnan(dt).any() else dt),
        ],
        schema=SAMPLES,
    )


def _lengths(columns: list[_Column], ticks: list[_Column]) -> NDArray[np.float32]:
    """The length of the tick of each sample, NaN where the store has none. Columns of a device share their times, and
    each of these is looked up once."""
    known = np.concatenate([np.empty(0, np.int64), *(column.ts for column in ticks)])
    lengths = np.concatenate([np.empty(0, np.float32), *(column.values for column in ticks)])
    order = np.argsort(known, kind="stable")
    known, lengths = known[order], lengths[order]
    of: dict[int, NDArray[np.float32]] = {}
    for column in columns:
        if id(column.ts) not in of:
            of[id(column.ts)] = _looked_up(column.ts, known, lengths)
    return np.concatenate([of[id(column.ts)] for column in columns])


def _looked_up(
    ts: NDArray[np.int64], known: NDArray[np.int64], lengths: NDArray[np.float32]
) -> NDArray[np.float32]:
    if not len(known):
        return np.full(len(ts), np.nan, np.float32)
    at = np.minimum(np.searchsorted(known, ts), len(known) - 1)
    return np.where(known[at] == ts, lengths[at], np.float32(np.nan))


def _usual_distance(ts: NDArray[np.int64]) -> np.float32:
    stamps = np.unique(ts)
    return np.float32(np.median(np.diff(stamps)) / SECOND_NS if len(stamps) > 1 else 1.0)
