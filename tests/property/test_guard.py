"""Whatever is typed is either a statement that reads, or refused in one line."""

from __future__ import annotations

from contextlib import suppress

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostsight.errors import UsageError
from sql.engine import connect
from sql.guard import check
from sql.views import view_names

WORDS = (
    "SELECT", "*", "FROM", "samples", "WITH", "x", "AS", "(", ")", ",", ";", "COPY", "TO", "'f'", "DELETE", "EXPLAIN",
    "ANALYZE", "DESCRIBE", "SUMMARIZE", "SHOW", "TABLES", "UNION ALL", "read_csv('f')", "PIVOT", "ON", "IN", "ATTACH",
    "EXPORT DATABASE", "SET", "VALUES (1)", "-- ", "/*", "*/", "$1", "?", '"', "'", "\\", "é", "\n", "\0", "1", "value",
    "RECURSIVE", "INSERT INTO", "UPDATE", "RETURNING", "CREATE TABLE", "CALL", "PRAGMA", "query('SELECT 1')",
)  # fmt: skip
TEXT = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | st.text(max_size=40)
FRAMES = (
    "{}", "/**/ {}", "EXPLAIN ANALYZE {}", "DESCRIBE {}", "WITH a AS ({}) SELECT * FROM a",
    "SELECT * FROM (WITH a AS ({}) FROM a)", "SELECT (WITH a AS ({}) SELECT 1 FROM a)",
    "(SELECT 1) UNION ALL (WITH a AS ({}) FROM a)", "SELECT 1 WHERE 1 IN (WITH a AS MATERIALIZED ({}) FROM a)",
    "WITH RECURSIVE b AS (SELECT 1 UNION ALL (WITH a AS ({}) FROM a)) FROM b",
)  # fmt: skip
WRITES = (
    "COPY samples TO 'f'", "COPY (SELECT 1) TO 'f'", "DELETE FROM t RETURNING 1", "INSERT INTO t VALUES (1) RETURNING 1",
    "UPDATE t SET a = 1 RETURNING 1", "MERGE INTO t USING samples ON true WHEN MATCHED THEN DELETE RETURNING 1",
)  # fmt: skip


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    made = connect()
    made.execute("CREATE TABLE t (a INT)")
    made.execute("CREATE VIEW samples AS FROM t")
    return made


@settings(max_examples=300, deadline=None)
@given(TEXT)
def test_any_text_passes_or_is_a_usage_error(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    with suppress(UsageError):
        assert isinstance(check(connection, text, view_names()), str)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(FRAMES), st.sampled_from(FRAMES), st.sampled_from(WRITES))
def test_a_write_is_refused_wherever_it_stands(
    connection: duckdb.DuckDBPyConnection, outer: str, inner: str, write: str
) -> None:
    with pytest.raises(UsageError):
        check(connection, outer.format(inner.format(write)), view_names())
