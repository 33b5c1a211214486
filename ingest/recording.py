"""Telemetry that something else recorded: a table in CSV or Parquet, wide (a column a metric) or long (ts, channel, value)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from hostsight.channel import Channel
from hostsight.clock import SECOND_NS
from hostsight.errors import UsageError, nearest
from hostsight.files import unreadable
from hostsight.timerange import MAX_NS, TimeRange
from ingest.store import SAMPLES

TIME_NAMES = ("ts", "time", "timestamp", "datetime", "date", "_time")
_LONG = ("channel", "value")
_YEAR_1973_NS = 1e17
_EPOCH_UNITS_NS = (1, 1_000, 1_000_000, SECOND_NS)
_FEWEST_ROWS = 2


@dataclass(frozen=True, slots=True)
class Recording:
    """ts: int64 [rows], nanoseconds, in the file's order; stamp: the type that the file has them in.

    values: float32 [rows, names], NaN is absent."""

    path: Path
    ts: NDArray[np.int64]
    stamp: pa.DataType
    names: tuple[str, ...]
    values: NDArray[np.float32]

    @property
    def period_ns(self) -> int:
        """The usual time between two rows; raises UsageError where there are not two."""
        steps = np.diff(np.unique(self.ts))
        if len(steps) < _FEWEST_ROWS - 1:
            raise UsageError(
                f"{self.path} has fewer than two points in time, so nothing can be learnt from it"
            )
        return int(np.median(steps))

    def only(self, names: Sequence[str]) -> Recording:
        """With these columns, in this order."""
        places = [self.names.index(name) for name in names]
        return Recording(self.path, self.ts, self.stamp, tuple(names), self.values[:, places])


def read_recording(path: Path, *, exclude: Collection[str] = (), time: str | None = None) -> Recording:
    """The table of a `.csv` (also compressed) or `.parquet` file.

    exclude: columns or channels to leave out.  time: the column of time stamps; otherwise the first of TIME_NAMES.
    Raises UsageError where it cannot be read or understood.
    """
    table = _read(path)
    stamp = _time_column(path, table, time)
    ts = _nanoseconds(path, stamp, table.column(stamp))
    own = table.schema.field(stamp).type
    kind = own if pa.types.is_timestamp(own) else pa.timestamp("ns")
    rest = [name for name in table.column_names if name != stamp]
    if set(rest) == set(_LONG):
        recording = _from_long(path, ts, table, exclude)
    else:
        kept = [name for name in rest if name not in exclude]
        values = [_numbers(path, name, table.column(name)) for name in kept]
        matrix = np.column_stack(values) if values else np.empty((len(ts), 0), np.float32)
        recording = Recording(path, ts, kind, tuple(kept), matrix)
    if not np.isfinite(recording.values).any():
        raise UsageError(f"{path} has no rows or no column of numbers beside {stamp}")
    return recording


def _read(path: Path) -> pa.Table:
    try:
        path.stat()  # says plainly what is wrong, which pyarrow does not
        if path.suffix == ".parquet":
            return pa.parquet.read_table(path)
        if ".csv" in path.suffixes:
            return pa.csv.read_csv(path)
    except OSError as error:
        raise unreadable(error, path) from error
    except pa.ArrowInvalid as error:
        raise UsageError(f"{path} is not what its name says: {error}") from error
    raise UsageError(f"{path} is neither .csv nor .parquet")


def _time_column(path: Path, table: pa.Table, wanted: str | None) -> str:
    names = table.column_names
    if len(set(names)) < len(names):
        raise UsageError(f"{path} has two columns of the same name; rename one")
    if wanted is not None:
        if wanted not in names:
            raise UsageError(f"{path} has no column {wanted}{nearest(wanted, names)}")
        return wanted
    found = next((name for name in TIME_NAMES if name in names), None)
    if found is None:
        raise UsageError(
            f"{path} has no column {' or '.join(TIME_NAMES)}; name the one that holds the time with --time"
        )
    return found


def _nanoseconds(path: Path, name: str, column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Time stamps, texts in ISO 8601, or numbers since the epoch, in the unit that gives a year from 1973 to 2262."""
    if column.null_count:
        raise UsageError(f"{path}: column {name} lacks {column.null_count} of its time stamps")
    kind = column.type
    try:
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            column = pc.cast(column, pa.timestamp("ns", "UTC"))
        if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
            stamps: NDArray[np.int64] = (
                column.cast(pa.timestamp("ns", getattr(column.type, "tz", None))).cast(pa.int64()).to_numpy()
            )
            return stamps
        whole = pa.types.is_integer(kind)
        numbers = column.cast(pa.int64() if whole else pa.float64()).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UsageError(f"{path}: column {name} holds no time stamps: {error}") from error
    largest = float(np.abs(numbers).max(initial=0))
    unit = next((unit for unit in _EPOCH_UNITS_NS if largest * unit >= _YEAR_1973_NS), SECOND_NS)
    if largest * unit > MAX_NS:
        raise UsageError(f"{path}: column {name} holds times beyond the year 2262")
    return np.asarray(np.round(numbers * unit)).astype(np.int64)


def _numbers(path: Path, name: str, column: pa.ChunkedArray) -> NDArray[np.float32]:
    try:
        numbers = (
            column.cast(pa.float64()) if not pa.types.is_boolean(column.type) else column.cast(pa.int8())
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UsageError(
            f"{path}: column {name} holds no numbers; leave it out with --exclude {name}"
        ) from error
    with np.errstate(over="ignore"):
        values: NDArray[np.float32] = numbers.to_numpy().astype(np.float32)
    values[~np.isfinite(values)] = np.nan
    return values


def _from_long(path: Path, ts: NDArray[np.int64], table: pa.Table, exclude: Collection[str]) -> Recording:
    channels = table.column("channel").cast(pa.string()).combine_chunks().dictionary_encode()
    names = channels.dictionary.to_pylist()
    kept = [index for index, name in enumerate(names) if name is not None and name not in exclude]
    place = np.full(len(names) + 1, -1)
    place[kept] = np.arange(len(kept))
    column = place[pc.fill_null(channels.indices, len(names)).to_numpy()]
    rows, row = np.unique(ts, return_inverse=True)
    values = np.full((len(rows), len(kept)), np.nan, np.float32)
    wanted = column >= 0
    values[row[wanted], column[wanted]] = _numbers(path, "value", table.column("value"))[wanted]
    return Recording(path, rows, pa.timestamp("ns"), tuple(str(names[index]) for index in kept), values)


class RecordingStore:
    """A recording as a store, so that it goes the same way as live telemetry.

    channels: one a column of the recording, of one host.
    shift_ns: added to every stamp, so that each row falls into the middle of a pane of its own.
    """

    name: ClassVar[str] = "recording"

    def __init__(self, recording: Recording, channels: Sequence[Channel], shift_ns: int = 0) -> None:
        order = np.argsort(recording.ts, kind="stable")
        self._ts = recording.ts[order] + shift_ns
        self._values = recording.values[order]
        self._channels = tuple(channels)

    @property
    def problems(self) -> Sequence[str]:
        return ()

    def hosts(self) -> Sequence[str]:
        return (self._channels[0].host,)

    def span(self, host: str) -> TimeRange:
        return TimeRange(int(self._ts[0]), int(self._ts[-1]) + 1)

    def channels(self, host: str) -> Sequence[Channel]:
        return self._channels

    def export(self, host: str, span: TimeRange) -> pa.Table:
        first, last = np.searchsorted(self._ts, [span.start_ns, span.end_ns])
        own = sorted((channel.id, index) for index, channel in enumerate(self._channels))
        ids, places = (np.array(part, np.int64) for part in zip(*own, strict=True))
        values = self._values[first:last, places].T
        there = np.isfinite(values)
        ts = np.broadcast_to(self._ts[first:last], values.shape)
        channel = np.broadcast_to(ids[:, np.newaxis], values.shape)
        columns = {
            "ts": pa.array(ts[there]).cast(pa.timestamp("ns")),
            "channel_id": pa.array(channel[there]),
            "value": pa.array(values[there]),
            "dt": pa.array(np.full(int(there.sum()), self._channels[0].period_seconds, np.float32)),
        }
        return pa.table(columns).cast(SAMPLES)

    def release(self, host: str, done_ns: int) -> int:
        return 0
