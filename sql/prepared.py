"""Statements that run again and again over tables that come anew each time: parsed and planned once, which is most of their cost
on a second's worth of rows.

DuckDB plans anew at every run what reads its catalog or has parameters. It keeps the plan of a statement that reads Python
objects alone, which it finds by the names of variables.
"""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import pyarrow as pa

from sql.engine import filled, parameters


class _Slot:
    """What a name stands for in a prepared statement: the table that was put in last, read through the Arrow C interface."""

    def __init__(self, schema: pa.Schema) -> None:
        self._empty = schema.empty_table()
        self._table = self._empty

    def put(self, table: pa.Table) -> None:
        """Raises ArrowInvalid where the table has not the columns that the statement was prepared for."""
        self._table = table.cast(self._empty.schema)

    def clear(self) -> None:
        self._table = self._empty

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


_BOUND = "bound"
"""The table of one row that stands for parameters."""


class Prepared:
    """One statement over named tables, whose parameters are integers.

    reads: the columns of the tables that each run gives.  kept: tables that stay the same.  fixed: parameters that do.
    gives: the columns of its rows.
    """

    def __init__(  # noqa: PLR0913  # facts by name
        self,
        connection: duckdb.DuckDBPyConnection,
        name: str,
        text: str,
        *,
        reads: Mapping[str, pa.Schema],
        gives: pa.Schema,
        kept: Mapping[str, pa.Table] | None = None,
        fixed: Mapping[str, int] | None = None,
    ) -> None:
        self._connection = connection
        self._name = name
        self._gives = gives
        values = {each: str(int(value)) for each, value in (fixed or {}).items()}
        self._bound = pa.schema([(each, pa.int64()) for each in sorted(parameters(text) - values.keys())])
        values |= {each: f"(FROM {_BOUND} SELECT {each})" for each in self._bound.names}
        self._slots = {each: _Slot(schema) for each, schema in ({_BOUND: self._bound} | dict(reads)).items()}
        self._prepare(filled(text, values), {**self._slots, **(kept or {})})

    def _prepare(self, text: str, tables: Mapping[str, object]) -> None:
        prepare = self._connection.execute
        prepare("SET python_enable_replacements = true")
        statement = f"PREPARE {self._name} AS {text}"
        eval("prepare(statement)", {**tables, "prepare": prepare, "statement": statement})  # noqa: S307  # its variables are the tables
        prepare("SET python_enable_replacements = false")

    def run(self, tables: Mapping[str, pa.Table], **bound: int) -> pa.Table:
        """The statement's rows over a table for each name that it reads. Raises ArrowInvalid, duckdb.Error."""
        row = pa.table({each: [bound[each]] for each in self._bound.names}, schema=self._bound)
        try:
            for name, table in ({_BOUND: row} | dict(tables)).items():
                self._slots[name].put(table)
            columns = self._connection.execute(f"EXECUTE {self._name}").fetchnumpy()
        finally:
            for slot in self._slots.values():
                slot.clear()
        arrays = [pa.array(columns[field.name], field.type) for field in self._gives]
        return pa.Table.from_arrays(arrays, schema=self._gives)
