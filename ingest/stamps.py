"""Time stamps of recordings, in the forms that people keep them in, as nanoseconds since the epoch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hostsight.clock import SECOND_NS
from hostsight.errors import UsageError
from hostsight.timerange import MAX_NS

FORMS = (
    "2026-01-31T12:00:00Z, 2026-01-31 12:00:00 (UTC), or seconds, milli-, micro- or nanoseconds since 1970"
)
_YEAR_1973_NS = 1e17
_EPOCH_UNITS_NS = (1, 1_000, 1_000_000, SECOND_NS)

_Cast = Callable[[pa.ChunkedArray], pa.ChunkedArray]


def nanoseconds(path: Path, name: str, column: pa.ChunkedArray) -> tuple[NDArray[np.int64], pa.DataType]:
    """[rows], and the type that stands for the file's own: the same timestamp type, or plain nanoseconds.

    Time stamps, texts in ISO 8601, or numbers since the epoch, in the unit that gives a year from 1973 to 2262, or else in seconds.
    Raises UsageError with row, column, value and the forms that are understood.
    """
    _refuse_gaps(path, name, column)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = _from_text(path, name, column)
    stamp = pa.timestamp("ns", getattr(column.type, "tz", None))
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        stamps = _whole(path, name, column, stamp)
    elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        stamps = _from_numbers(path, name, column)
    else:
        raise UsageError(f"{path}: column {name} holds {kind} values and no times; write them as {FORMS}")
    if stamps.min(initial=0) < 0:
        raise _beyond(path, name, int(stamps.argmin()), column)
    return stamps, kind if pa.types.is_timestamp(kind) else stamp


def _refuse_gaps(path: Path, name: str, column: pa.ChunkedArray) -> None:
    if column.null_count:
        row = pc.index(column.is_null(), True).as_py() + 1
        raise UsageError(
            f"{path}: row {row} of column {name} has no time, one of {column.null_count}; fill them in, or leave those rows out"
        )


def _from_text(path: Path, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """In the first of the forms that understands all; the row that is unlike the first is named."""
    forms = [_to(form) for form in (pa.timestamp("ns", "UTC"), pa.timestamp("ns"), pa.int64(), pa.float64())]
    cast = next((form for form in forms if _does(form, column)), None)
    if cast is not None:
        return cast(column)
    cast = next((form for form in reversed(forms) if _does(form, column[:1])), None)
    raise _wrong(path, name, 0 if cast is None else _first_wrong(cast, column), column)


def _to(kind: pa.DataType) -> _Cast:
    return lambda part: pc.cast(part, kind)


def _whole(path: Path, name: str, column: pa.ChunkedArray, plain: pa.DataType) -> NDArray[np.int64]:
    """Time stamps as nanoseconds, where so many years can be counted in them."""
    cast = _to(plain)
    if not _does(cast, column):
        raise _beyond(path, name, _first_wrong(cast, column), column)
    stamps: NDArray[np.int64] = cast(column).cast(pa.int64()).to_numpy()
    return stamps


def _does(cast: _Cast, column: pa.ChunkedArray) -> bool:
    try:
        cast(column)
    except pa.ArrowInvalid:
        return False
    return True


def _first_wrong(cast: _Cast, column: pa.ChunkedArray) -> int:
    """The first row that `cast` does not understand, in a column that has one: halved until it is found."""
    first, rows = 0, len(column)
    while rows > 1:
        half = rows // 2
        if _does(cast, column.slice(first, half)):
            first, rows = first + half, rows - half
        else:
            rows = half
    return first


def _wrong(path: Path, name: str, row: int, column: pa.ChunkedArray) -> UsageError:
    value = column[row].as_py()
    unlike = f", unlike {column[0].as_py()!r} in row 1" if row else ""
    return UsageError(
        f"{path}: row {row + 1} of column {name} is {value!r}, which is no time{unlike}; write each as {FORMS}"
    )


def _beyond(path: Path, name: str, row: int, column: pa.ChunkedArray) -> UsageError:
    value = column[row].cast(pa.string()).as_py()
    return UsageError(
        f"{path}: row {row + 1} of column {name} is {value}, which is before 1970 or beyond the year 2262; write times as {FORMS}"
    )


def _from_numbers(path: Path, name: str, column: pa.ChunkedArray) -> NDArray[np.int64]:
    numbers = column.to_numpy()
    sizes = np.abs(numbers.astype(np.float64))
    wrong = np.flatnonzero(~np.isfinite(sizes))
    if len(wrong):
        raise _wrong(path, name, int(wrong[0]), column)
    largest = float(sizes.max(initial=0))
    unit = next((unit for unit in _EPOCH_UNITS_NS if largest * unit >= _YEAR_1973_NS), SECOND_NS)
    if largest * unit > MAX_NS:
        raise _beyond(path, name, int(sizes.argmax()), column)
    numbers = numbers.astype(np.float64 if numbers.dtype.kind == "f" else np.int64)
    return np.asarray(np.round(numbers * unit)).astype(np.int64)
