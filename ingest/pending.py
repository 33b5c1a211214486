"""Ticks that wait for their flush, laid out as the Arrow batch that they become."""

from __future__ import annotations

from io import BytesIO
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.frame import seal
from ingest.segment import batch_schema

_TICKS = 16
_ZSTD = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", compression_level=1), use_threads=False)


class _Room(NamedTuple):
    """Arrays for some ticks, and the Arrow batch that is the view of all of them: ts [ticks], dt [ticks], values [ticks, channels].

    They begin as zeros, since Arrow writes a few bytes more than there are ticks.
    """

    ts: NDArray[np.int64]
    dt: NDArray[np.float32]
    values: NDArray[np.float32]
    batch: pa.RecordBatch


class Pending:
    """Ticks of one layout. The arrays, the batch over them and its writer are made once.

    Made anew each second they would cost several times what the compression does.
    """

    def __init__(self, channels: int) -> None:
        self._count = 0
        self._room = _room(channels, _TICKS)
        self._message = BytesIO()
        sink = pa.PythonFile(self._message, "w")
        self._writer = pa.ipc.new_stream(sink, self._room.batch.schema, options=_ZSTD)
        self._writer.write_batch(self._room.batch.slice(0, 0))  # the schema goes ahead of the first batch

    def __len__(self) -> int:
        return self._count

    @property
    def first_ns(self) -> int:
        return int(self._room.ts[0])

    @property
    def last_ns(self) -> int:
        return int(self._room.ts[self._count - 1])

    def finite(self) -> int:
        """How many values are present."""
        return int(np.isfinite(self._room.values[: self._count]).sum())

    def append(self, ts_ns: int, dt: float, values: NDArray[np.float32]) -> None:
        """Keep one tick. values: [channels]; what is not finite is absent."""
        at, room = self._count, self._room
        if at == len(room.ts):
            room = self._room = _grown(room)
        room.ts[at] = ts_ns
        room.dt[at] = dt
        room.values[at] = values
        self._count += 1

    def frame(self, *, partial: bool = False) -> bytes:
        """One batch of all the ticks, of which there is at least one, compressed; values that are not finite become NaN."""
        values = self._room.values[: self._count]
        infinite = np.isinf(values)
        if np.count_nonzero(infinite):
            values[infinite] = np.nan
        self._message.seek(0)
        self._message.truncate()
        self._writer.write_batch(self._room.batch.slice(0, self._count))
        return seal(memoryview(self._message.getvalue()), self.first_ns, self.last_ns, partial=partial)

    def clear(self) -> None:
        """Start over."""
        self._count = 0


def _room(channels: int, ticks: int) -> _Room:
    schema = batch_schema(channels)
    ts, dt = np.zeros(ticks, np.int64), np.zeros(ticks, np.float32)
    values = np.zeros((ticks, channels), np.float32)
    columns = [
        _array(pa.timestamp("ns"), ts),
        _array(pa.float32(), dt),
        pa.Array.from_buffers(
            schema.field("values").type, ticks, [None], children=[_array(pa.float32(), values)]
        ),
    ]
    return _Room(ts, dt, values, pa.RecordBatch.from_arrays(columns, schema=schema))


def _grown(full: _Room) -> _Room:
    count, channels = full.values.shape
    room = _room(channels, 2 * count)
    room.ts[:count], room.dt[:count], room.values[:count] = full.ts, full.dt, full.values
    return room


def _array(kind: pa.DataType, values: NDArray[np.int64] | NDArray[np.float32]) -> pa.Array:
    """All of `values`, one after another, in their own memory."""
    return pa.Array.from_buffers(kind, values.size, [None, pa.py_buffer(values)])
