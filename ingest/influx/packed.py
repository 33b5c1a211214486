"""InfluxQL's answers in MessagePack, read while they arrive.

Numbers come as they are stored, so neither side turns them into text and back. An answer is a message after the other,
each with points of one series: `{"results": [{"statement_id": 0, "series": [{"name": ..., "tags": {...}, "columns":
[...], "values": [[time, field, ...], ...]}]}]}`.
https://github.com/msgpack/msgpack/blob/master/spec.md
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from hostsight.errors import StorageError

_START = b"\x81\xa7results\x91"
"""Begins every message, and can be nowhere else: text is UTF-8, numbers are of eight bytes at most."""

_ARRAY16, _ARRAY32 = 0xDC, 0xDD
_NIL = 0xC0
_FORMATS = {0xCB: ">f8", 0xCF: ">u8", 0xD3: ">i8"}
_LENGTHS = {_NIL: 1, **dict.fromkeys(_FORMATS, 9)}


class Series(msgspec.Struct, frozen=True):
    """`values` is an array of rows as it came, which `columns_of` reads."""

    columns: list[str]
    values: msgspec.Raw
    name: str = ""
    tags: dict[str, str] = {}


class Result(msgspec.Struct, frozen=True):
    """Points of one statement, or why it has none."""

    statement_id: int = -1
    series: list[Series] = []
    error: str = ""


class _Message(msgspec.Struct, frozen=True):
    results: list[Result] = []
    error: str = ""


_messages = msgspec.msgpack.Decoder(_Message)
_rows = msgspec.msgpack.Decoder(list[list[int | float | None]])


def results(arriving: Iterable[bytes]) -> Iterator[Result]:
    """Memory holds one message. Raises StorageError for what is no such answer."""
    for message in _split(arriving):
        try:
            found = _messages.decode(message)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise StorageError(f"InfluxDB's answer cannot be read: {error}") from error
        if found.error:
            yield Result(error=found.error)
        yield from found.results


def _split(arriving: Iterable[bytes]) -> Iterator[bytes]:
    pending = bytearray()
    for some in arriving:
        unsearched = max(1, len(pending) - len(_START))
        pending += some
        begin = 0
        while (end := pending.find(_START, unsearched)) > 0:
            yield bytes(pending[begin:end])
            begin, unsearched = end, end + 1
        del pending[:begin]
    if pending:
        yield bytes(pending)


def columns_of(series: Series) -> tuple[NDArray[np.int64], dict[str, NDArray[np.float32]]]:
    """Times, and the columns that follow them by name; NaN where a row has no value, and columns without any left out.

    Raises StorageError for other than numbers.
    """
    raw = memoryview(series.values)
    return _alike(raw, series.columns) or _one_by_one(raw, series.columns)


def _alike(
    raw: memoryview, names: list[str]
) -> tuple[NDArray[np.int64], dict[str, NDArray[np.float32]]] | None:
    """Where all rows lack the same columns, as is usual, they are equally long: a table. None elsewhere."""
    count, begin = _array_header(raw, 0)
    kinds = _kinds(raw, begin, len(names)) if count else None
    if kinds is None:
        return None
    offsets = [at - begin for at, _ in kinds]
    length = offsets[-1] + _LENGTHS[kinds[-1][1]]
    if len(raw) != begin + count * length:
        return None
    octets = np.frombuffer(raw, np.uint8, offset=begin).reshape(count, length)
    fixed = [*range(offsets[0]), *offsets]
    if (octets[:, fixed] != octets[0, fixed]).any():
        return None
    present = [number for number, (_, kind) in enumerate(kinds) if kind != _NIL]
    row = np.dtype(
        {
            "names": [str(number) for number in present],
            "formats": [_FORMATS[kinds[number][1]] for number in present],
            "offsets": [offsets[number] + 1 for number in present],
            "itemsize": length,
        }
    )
    table: NDArray[np.void] = np.frombuffer(raw, row, offset=begin)
    with np.errstate(over="ignore"):
        fields = {names[number]: table[str(number)].astype(np.float32) for number in present[1:]}
    return table["0"].astype(np.int64), fields


def _array_header(raw: memoryview, at: int) -> tuple[int, int]:
    """How many members an array has, and where its first one begins."""
    kind = raw[at]
    if kind == _ARRAY16:
        return int.from_bytes(raw[at + 1 : at + 3], "big"), at + 3
    if kind == _ARRAY32:
        return int.from_bytes(raw[at + 1 : at + 5], "big"), at + 5
    return kind & 0x0F, at + 1


def _kinds(raw: memoryview, at: int, width: int) -> list[tuple[int, int]] | None:
    """(place, kind) of each member of the row at `at`; None where one has none of these kinds, or it has no time."""
    found = []
    _, at = _array_header(raw, at)
    for _ in range(width):
        kind = raw[at]
        if kind not in _LENGTHS:
            return None
        found.append((at, kind))
        at += _LENGTHS[kind]
    return None if found[0][1] == _NIL else found


def _one_by_one(
    raw: memoryview, names: list[str]
) -> tuple[NDArray[np.int64], dict[str, NDArray[np.float32]]]:
    try:
        times, *columns = zip(*_rows.decode(raw), strict=True)
        with np.errstate(over="ignore"):
            fields = {
                name: np.array(column, np.float32)
                for name, column in zip(names[1:], columns, strict=True)
                if any(value is not None for value in column)
            }
        return np.array(times, np.int64), fields
    except (msgspec.DecodeError, ValueError, TypeError) as error:
        raise StorageError(f"InfluxDB's answer cannot be read: {error}") from error
