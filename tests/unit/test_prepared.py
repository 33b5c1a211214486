from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

from sql.engine import connect
from sql.prepared import Prepared

SCHEMA = pa.schema([("value", pa.int64())])


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    made = connect()
    yield made
    made.close()


def numbers(*values: int) -> dict[str, pa.Table]:
    return {"numbers": pa.table({"value": pa.array(values, pa.int64())})}


def test_each_run_sees_its_own_table_and_values(connection: duckdb.DuckDBPyConnection) -> None:
    text = "SELECT value * $factor + $more AS value FROM numbers ORDER BY value  -- by $factor"
    scaled = Prepared(
        connection, "scaled", text, reads={"numbers": SCHEMA}, gives=SCHEMA, fixed={"more": 1, "unused": 5}
    )

    assert scaled.run(numbers(3, 1), factor=2)["value"].to_pylist() == [3, 7]
    assert scaled.run(numbers(), factor=2).num_rows == 0
    assert scaled.run(numbers(7), factor=10)["value"].to_pylist() == [71]


def test_two_statements_have_tables_of_their_own(connection: duckdb.DuckDBPyConnection) -> None:
    every, summed = (
        Prepared(connection, name, text, reads={"numbers": SCHEMA}, gives=SCHEMA)
        for name, text in (
            ("every", "FROM numbers"),
            ("summed", "SELECT sum(value)::BIGINT AS value FROM numbers"),
        )
    )

    assert every.run(numbers(1, 2))["value"].to_pylist() == [1, 2]
    assert summed.run(numbers(3, 4))["value"].to_pylist() == [7]
    assert every.run(numbers(5))["value"].to_pylist() == [5]


def test_rows_are_joined_with_what_stays(connection: duckdb.DuckDBPyConnection) -> None:
    names = pa.table({"value": [1, 2], "name": ["one", "two"]})
    named = Prepared(
        connection,
        "named",
        "SELECT name FROM numbers JOIN names USING (value) ORDER BY name",
        reads={"numbers": SCHEMA},
        gives=pa.schema([("name", pa.string())]),
        kept={"names": names},
    )
    del names

    assert named.run(numbers(2, 3))["name"].to_pylist() == ["two"]
    assert named.run(numbers(2, 1))["name"].to_pylist() == ["one", "two"]


def test_absent_values_are_null_and_those_that_are_no_number_are_not(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    schema = pa.schema([("value", pa.float32()), ("ts", pa.timestamp("ns"))])
    given = pa.table({"value": [1.5, None, float("nan")], "ts": [3, 2, 1]}).cast(schema)
    every = Prepared(
        connection, "every", "SELECT * FROM given ORDER BY ts", reads={"given": schema}, gives=schema
    )

    found = every.run({"given": given})
    assert found.schema == schema
    assert found["ts"].cast(pa.int64()).to_pylist() == [1, 2, 3]
    assert found["value"].is_null().to_pylist() == [False, True, False]


def test_a_statement_is_planned_once(connection: duckdb.DuckDBPyConnection) -> None:
    """A plan that is made anew looks the tables up by their names again, where there are none any more."""
    every = Prepared(connection, "every", "FROM numbers", reads={"numbers": SCHEMA}, gives=SCHEMA)
    every.run(numbers(1))

    with pytest.raises(duckdb.CatalogException, match="numbers"):
        connection.execute("FROM numbers")
    assert every.run(numbers(2))["value"].to_pylist() == [2]


def test_a_table_of_other_columns_is_refused(connection: duckdb.DuckDBPyConnection) -> None:
    every = Prepared(connection, "every", "SELECT * FROM numbers", reads={"numbers": SCHEMA}, gives=SCHEMA)

    with pytest.raises(ValueError, match="other"):
        every.run({"numbers": pa.table({"other": [1]})})


def test_a_statement_that_fails_leaves_no_table_behind(connection: duckdb.DuckDBPyConnection) -> None:
    text = "SELECT if(value = 0, error('no'), value) AS value FROM numbers"
    checked = Prepared(connection, "checked", text, reads={"numbers": SCHEMA}, gives=SCHEMA)
    with pytest.raises(duckdb.Error, match="no"):
        checked.run(numbers(0))

    assert checked.run({}).num_rows == 0
    assert checked.run(numbers(7))["value"].to_pylist() == [7]
