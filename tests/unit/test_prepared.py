from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

from sql.engine import connect
from sql.prepared import Prepared, Slot

SCHEMA = pa.schema([("value", pa.int64())])


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    made = connect()
    yield made
    made.close()


def numbers(*values: int) -> pa.Table:
    return pa.table({"value": pa.array(values, pa.int64())})


def test_each_run_sees_its_own_table_and_values(connection: duckdb.DuckDBPyConnection) -> None:
    slot = Slot(connection, "numbers", SCHEMA)
    scaled = Prepared(connection, "scaled", "SELECT value * $factor AS value FROM numbers ORDER BY value")

    assert scaled.run(slot, numbers(3, 1), {"factor": 2, "unused": 5})["value"].to_pylist() == [2, 6]
    assert scaled.run(slot, numbers(), {"factor": 2}).num_rows == 0
    assert scaled.run(slot, numbers(7), {"factor": 10})["value"].to_pylist() == [70]


def test_a_table_of_other_columns_is_refused(connection: duckdb.DuckDBPyConnection) -> None:
    slot = Slot(connection, "numbers", SCHEMA)
    every = Prepared(connection, "every", "SELECT * FROM numbers")

    with pytest.raises(ValueError, match="other"):
        every.run(slot, pa.table({"other": [1]}), {})


def test_a_statement_that_fails_leaves_no_table_behind(connection: duckdb.DuckDBPyConnection) -> None:
    slot = Slot(connection, "numbers", SCHEMA)
    inverse = Prepared(connection, "inverse", "SELECT error('no') FROM numbers WHERE value = 0")
    with pytest.raises(duckdb.Error):
        inverse.run(slot, numbers(0), {})

    assert connection.sql("SELECT count(*) FROM numbers").fetchall() == [(0,)]
