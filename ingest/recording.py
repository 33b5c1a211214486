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
from hostsight.errors import UsageError, nearest
from hostsight.files import unreadable
from hostsight.timerange import TimeRange
from ingest.stamps import nanoseconds
from ingest.store import SAMPLES

TIME_NAMES = ("ts", "time", "timestamp", "datetime", "date", "_time")
_LONG = ("channel", "value")
_FEWEST_ROWS = 2
_HEAD_BYTES = 1 << 20
_LARGEST = float(np.finfo(np.float32).max)
_MOST_NAMES = 8
"""So many columns are named in a message."""


@dataclass(frozen=True, slots=True)
class Recording:
    """ts: int64 [rows], nanoseconds, in the file's order; stamp: the type of the file's, as `nanoseconds` says.

    values: float32 [rows, names], NaN is absent; what is beyond float32 is as far as that goes."""

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
                f"{self.path} has fewer than two points in time, so nothing can be learnt from it; give it a longer one"
            )
        return int(np.median(steps))

    def only(self, names: Sequence[str]) -> Recording:
        """With these columns, in this order."""
        places = [self.names.index(name) for name in names]
        return Recording(self.path, self.ts, self.stamp, tuple(names), self.values[:, places])


def read_recording(path: Path, *, exclude: Collection[str] = (), time: str | None = None) -> Recording:
    """`read_recordings` of one file."""
    return read_recordings([path], exclude=exclude, time=time)[0]


def read_recordings(
    paths: Sequence[Path], *, exclude: Collection[str] = (), time: str | None = None
) -> list[Recording]:
    """The tables of `.csv` (also compressed) or `.parquet` files.

    exclude: columns or channels to leave out.  time: the column of time stamps; otherwise the first of TIME_NAMES.
    Raises UsageError where one cannot be read or understood, or none has what is to be left out.
    """
    tables = [_Table(path, _read(path), time) for path in paths]
    known = dict.fromkeys(name for table in tables for name in table.names)
    for name in exclude:
        if name not in known:
            files = " or ".join(map(str, dict.fromkeys(paths)))
            raise UsageError(f"--exclude {name}: {files} has no such column{nearest(name, known, most=3)}")
    return [table.recording(exclude) for table in tables]


class _Table:
    """A file's table, wide or long, with its column of time stamps."""

    def __init__(self, path: Path, table: pa.Table, time: str | None) -> None:
        self._path = path
        self._table = table
        self._time = _time_column(path, table, time)
        self._rest = [name for name in table.column_names if name != self._time]
        self._long = set(_LONG) <= set(self._rest)

    @property
    def names(self) -> list[str]:
        """Of the columns beside the time; of a long table the channels, and what columns it has too many."""
        if not self._long:
            return self._rest
        channels = pc.unique(self._table.column("channel")).to_pylist()
        return [str(name) for name in channels if name is not None] + self._beside

    @property
    def _beside(self) -> list[str]:
        return [name for name in self._rest if name not in _LONG]

    def recording(self, exclude: Collection[str]) -> Recording:
        path, table = self._path, self._table
        if not table.num_rows:
            raise UsageError(f"{path} has no rows; another recording is needed")
        ts, stamp = nanoseconds(path, self._time, table.column(self._time))
        if self._long:
            self._refuse_beside(exclude)
            recording = _from_long(path, ts, stamp, table, exclude)
        else:
            kept = [name for name in self._rest if name not in exclude]
            values = [_numbers(path, name, table.column(name)) for name in kept]
            matrix = np.column_stack(values) if values else np.empty((len(ts), 0), np.float32)
            recording = Recording(path, ts, stamp, tuple(kept), matrix)
        if not np.isfinite(recording.values).any():
            raise UsageError(
                f"{path} has no column of numbers beside {self._time}; another recording is needed"
            )
        return recording

    def _refuse_beside(self, exclude: Collection[str]) -> None:
        """Another column may tell hosts or devices apart, whose channels must not become one."""
        if beside := [name for name in self._beside if name not in exclude]:
            raise UsageError(
                f"{self._path} has {_named(beside)} beside {self._time}, channel and value; leave each out with --exclude, or write it into the channels' names"
            )


def _read(path: Path) -> pa.Table:
    try:
        path.stat()  # says plainly what is wrong, which pyarrow does not
        if path.is_dir():
            raise UsageError(f"{path} is a folder; name a file in it")
        if path.suffix == ".parquet":
            return pa.parquet.read_table(path)
        if ".csv" in path.suffixes:
            return _read_csv(path)
    except OSError as error:
        if error.errno:
            raise unreadable(error, path) from error
        raise _damaged(path, error) from error
    except pa.ArrowInvalid as error:
        raise _damaged(path, error) from error
    raise UsageError(f"{path} is neither .csv nor .parquet; convert it, or name it by what it is")


def _damaged(path: Path, error: Exception) -> UsageError:
    return UsageError(
        f"{path} is damaged or not what its name says ({error}); write it anew, or name it by what it is"
    )


def _read_csv(path: Path) -> pa.Table:
    """Separated by commas; or by semicolons, as where numbers have a decimal comma, or by tabs."""
    with pa.input_stream(path) as file:
        head = file.read(_HEAD_BYTES).partition(b"\n")[0]
    mark = next((mark for mark in (b",", b";", b"\t") if mark in head), b",").decode()
    return pa.csv.read_csv(
        path,
        parse_options=pa.csv.ParseOptions(delimiter=mark),
        convert_options=pa.csv.ConvertOptions(decimal_point="," if mark == ";" else "."),
    )


def _time_column(path: Path, table: pa.Table, wanted: str | None) -> str:
    try:
        names = table.column_names
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: the names of columns are not in UTF-8; write it anew in UTF-8") from error
    if len(set(names)) < len(names):
        raise UsageError(f"{path} has two columns of the same name; rename one")
    if wanted is not None:
        if wanted not in names:
            raise UsageError(
                f"{path} has no column {wanted}{nearest(wanted, names)}, but {_named(names)}; name the one that holds the time with --time"
            )
        return wanted
    found = next((name for name in TIME_NAMES if name in names), None)
    if found is None:
        raise UsageError(
            f"{path} has no column {' or '.join(TIME_NAMES)}, but {_named(names)}; name the one that holds the time with --time"
        )
    return found


def _named(names: Sequence[str]) -> str:
    """The first few, and that there are more."""
    return ", ".join(map(repr, names[:_MOST_NAMES])) + (" ..." if len(names) > _MOST_NAMES else "")


def _numbers(path: Path, name: str, column: pa.ChunkedArray) -> NDArray[np.float32]:
    try:
        numbers = (
            column.cast(pa.int8())
            if pa.types.is_boolean(column.type)
            else column.cast(pa.float64(), safe=False)
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UsageError(
            f"{path}: {_no_number(name, column)} leave the column out with --exclude {name}"
        ) from error
    values = numbers.to_numpy().astype(np.float64)
    values[~np.isfinite(values)] = np.nan
    kept: NDArray[np.float32] = values.clip(-_LARGEST, _LARGEST).astype(np.float32)
    return kept


def _no_number(name: str, column: pa.ChunkedArray) -> str:
    """The first cell that is none; of a column of text, the only kind that may hold some."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        absent = set(pa.csv.ConvertOptions().null_values)
        for row, cell in enumerate(column):
            if cell.as_py() in absent:
                continue
            try:
                cell.cast(pa.float64())
            except pa.ArrowInvalid:
                return (
                    f"row {row + 1} of column {name} is {cell.as_py()!r}, which is no number; correct it, or"
                )
    return f"column {name} holds no numbers;"


def _from_long(
    path: Path, ts: NDArray[np.int64], stamp: pa.DataType, table: pa.Table, exclude: Collection[str]
) -> Recording:
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
    return Recording(path, rows, stamp, tuple(str(names[index]) for index in kept), values)


class RecordingStore:
    """A recording as a store, so that it goes the same way as live telemetry.

    channels: one a column of the recording, of one host.
    """

    name: ClassVar[str] = "recording"

    def __init__(self, recording: Recording, channels: Sequence[Channel]) -> None:
        order = np.argsort(recording.ts, kind="stable")
        self._ts = recording.ts[order]
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
