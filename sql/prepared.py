"""Statements that run again and again over tables that come anew each time: parsed and bound once, which is most of their cost
on a second's worth of rows."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import pyarrow as pa

from sql.engine import parameters


class Slot:
    """What a name stands for in prepared statements: the table that was put in last, read through the Arrow C interface."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, name: str, schema: pa.Schema) -> None:
        self._empty = schema.empty_table()
        self._table = self._empty
        connection.register(name, self)

    def put(self, table: pa.Table) -> None:
        """Raises ArrowInvalid where the table has not the columns that the statements were prepared for."""
        self._table = table.cast(self._empty.schema)

    def clear(self) -> None:
        self._table = self._empty

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class Prepared:
    """One statement that reads slots. DuckDB takes no bound values in EXECUTE, so its parameters are integers alone."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, name: str, text: str) -> None:
        self._connection = connection
        self._name = name
        self._parameters = sorted(parameters(text))
        connection.execute(f"PREPARE {name} AS {text}")

    def run(self, slot: Slot, table: pa.Table, bound: Mapping[str, int]) -> pa.Table:
        """The statement's rows with `table` in `slot`; `bound` may hold more than it uses."""
        values = ", ".join(f"{name} := {int(bound[name])}" for name in self._parameters)
        slot.put(table)
        try:
            return self._connection.sql(f"EXECUTE {self._name}({values})").to_arrow_table()
        finally:
            slot.clear()
