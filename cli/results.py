"""Query results as a table, JSON, CSV or Parquet.

Times are ISO 8601 in UTC with all the digits their column has; a `channel_id` is text in JSON, since it has 63 bits.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import IO, TextIO

import pyarrow as pa
import pyarrow.compute as pc

from hostsight.errors import UsageError

_BATCH = 10_000


def write_parquet(table: pa.Table, out: IO[bytes]) -> None:
    """Raises UsageError for a column that Parquet has no type for."""
    import pyarrow.parquet as pq

    try:
        pq.write_table(table, out, compression="zstd")
    except pa.ArrowNotImplementedError as error:
        raise UsageError(
            f"Parquet cannot hold this result ({error}); cast that column, or take --format json"
        ) from error


def write_csv(table: pa.Table, out: TextIO) -> None:
    """A header and a line a row (RFC 4180); NULL is empty."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows([_flat(value) for value in row] for row in rows(table))


def write_json(table: pa.Table) -> None:
    """A list of row objects; NaN and infinity are null."""
    from cli.output import print_json

    names = distinct(table.column_names)
    print_json([dict(zip(names, row, strict=True)) for row in rows(_ids_as_text(table))])


def write_table(table: pa.Table) -> None:
    from cli.output import print_table

    numbers = [field.name for field in table.schema if _is_number(field.type)]
    print_table(
        table.column_names,
        ([_cell(value) for value in row] for row in rows(table)),
        numbers=numbers,
    )


def rows(table: pa.Table) -> Iterator[Sequence[object]]:
    """Rows of Python values, times and dates already text."""
    for batch in table.to_batches(max_chunksize=_BATCH):
        yield from zip(*map(_values, batch.columns), strict=True)


def _values(column: pa.Array) -> list[object]:
    if pa.types.is_nested(column.type):
        return [_value(scalar) for scalar in column]
    values: list[object] = _times_as_text(column).to_pylist()
    return values


def _value(scalar: pa.Scalar) -> object:
    """Of a list, map, struct or union; Python's own times hold neither nanoseconds nor every year."""
    if not scalar.is_valid:
        return None
    if isinstance(scalar, pa.ListScalar):
        return _values(scalar.values)
    if isinstance(scalar, pa.StructScalar):
        return {name: _values(pa.array([field]))[0] for name, field in scalar.items()}
    return _values(pa.array([scalar.value]))[0] if isinstance(scalar, pa.UnionScalar) else scalar.as_py()


def distinct(names: Sequence[str]) -> list[str]:
    """`n, n` becomes `n, n_2`: a row object has each key once."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return out


def _times_as_text(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_date(kind):
        return column.cast(pa.string())
    if not pa.types.is_timestamp(kind):
        return column
    # A naive time is UTC here; a zoned one holds UTC underneath, and dropping the zone needs no zone database.
    return pc.strftime(column.cast(pa.timestamp(kind.unit)), format="%Y-%m-%dT%H:%M:%SZ")


def _ids_as_text(table: pa.Table) -> pa.Table:
    for index, field in enumerate(table.schema):
        if field.name == "channel_id" and pa.types.is_integer(field.type):
            table = table.set_column(index, field.name, table.column(index).cast(pa.string()))
    return table


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _cell(value: object) -> object:
    if isinstance(value, float):
        return f"{value:.7g}"
    return _flat(value) if isinstance(value, (list, dict)) else value


def _flat(value: object) -> object:
    """A CSV field: lists and structs as JSON, truth as SQL writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, dict, bytes)):
        import msgspec

        return msgspec.json.encode(value).decode()
    return value
