"""How `.sql` files are found, cut into blocks and given their values."""

from __future__ import annotations

import subprocess
import sys

import duckdb
import pyarrow as pa
import pytest

from sql import engine


def test_a_file_is_cut_at_its_named_blocks() -> None:
    text = "-- what it is for\n\n-- name: one\n-- first\nSELECT 1\n\n-- name: two\nSELECT 2\n"
    assert engine.blocks(text) == {"one": "-- first\nSELECT 1", "two": "SELECT 2"}
    assert engine.code(engine.blocks(text)["one"]) == "SELECT 1"


def test_parameters_in_comments_are_not_bound() -> None:
    text = "-- binds $nothing\nSELECT $first + $second_ns"
    assert engine.parameters(text) == {"first", "second_ns"}


def test_values_are_bound_and_spare_ones_left_out() -> None:
    with engine.connect() as connection:
        table = engine.fetch(connection, "SELECT $word AS word", {"word": "it's; DROP", "spare": 1})
    assert table.to_pylist() == [{"word": "it's; DROP"}]


def test_python_variables_are_not_tables() -> None:
    secret = pa.table({"a": [1]})
    with engine.connect() as connection, pytest.raises(duckdb.CatalogException):
        connection.sql("FROM secret").fetchall()
    assert secret.num_rows == 1


@pytest.mark.parametrize(
    "name", ["panes", "windows", "derive", "views", *(f"queries/{name}" for name in engine.names("queries"))]
)
def test_each_file_begins_by_saying_what_it_takes_and_gives(name: str) -> None:
    head = engine.statement(name).split("\n\n")[0].split("\nSELECT")[0]
    assert head.startswith("-- ")
    assert "-- inputs" in head
    assert "-- output" in head


@pytest.mark.parametrize("made", ["engine.connect()", "worker.locked_connection(2**28)"])
def test_no_progress_is_drawn_in_a_process_without_a_main_file(made: str) -> None:
    ask = f"print({made}.sql(\"SELECT current_setting('enable_progress_bar')\").fetchall())"
    command = [sys.executable, "-c", f"from sql import engine, worker; {ask}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[(False,)]\n"
