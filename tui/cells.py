"""A table of a query's rows as text, whatever its types."""

from __future__ import annotations

import re

import pyarrow as pa

from tui.source import Result, ResultColumn

_NO_FRACTION = re.compile(r"(:\d\d)(?:\.0+|(\.\d*?[1-9])0+)(?=Z?$)")


def result_of(table: pa.Table, *, truncated: bool, seconds: float) -> Result:
    columns = tuple(ResultColumn(field.name, str(field.type), _numeric(field.type)) for field in table.schema)
    cells = tuple(tuple(_texts(column)) for column in table.columns)
    return Result(columns=columns, cells=cells, rows=table.num_rows, truncated=truncated, seconds=seconds)


def _numeric(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _texts(column: pa.ChunkedArray) -> list[str | None]:
    texts = _plain(column)
    if pa.types.is_timestamp(column.type) or pa.types.is_time(column.type):
        return [None if text is None else _NO_FRACTION.sub(r"\1\2", text) for text in texts]
    return texts


def _plain(column: pa.ChunkedArray) -> list[str | None]:
    if pa.types.is_binary(column.type):
        return [None if value is None else value.hex() for value in column.to_pylist()]
    try:
        return list(column.cast(pa.string()).to_pylist())
    except (
        pa.ArrowNotImplementedError,
        pa.ArrowInvalid,
    ):  # lists, structs, intervals, text that is not UTF-8
        return [_text(scalar) if scalar.is_valid else None for scalar in column]


def _text(scalar: pa.Scalar) -> str:
    if not scalar.is_valid:
        return "NULL"
    if isinstance(scalar, pa.StructScalar):
        return "{" + ", ".join(f"{name}: {_text(value)}" for name, value in scalar.items()) + "}"
    if isinstance(scalar, pa.ListScalar):
        return "[" + ", ".join(map(_text, scalar.values)) + "]"
    if isinstance(scalar, pa.UnionScalar):
        return _text(scalar.value)
    try:
        return str(scalar.cast(pa.string()).as_py())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, UnicodeDecodeError):
        return str(scalar)
