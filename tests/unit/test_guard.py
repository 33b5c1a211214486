"""What an ad-hoc query may say."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from hostsight.errors import UsageError
from sql.engine import connect
from sql.guard import check
from sql.views import view_names


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with connect() as made:
        made.execute("CREATE VIEW samples AS SELECT now() AS ts, 1 AS channel_id, 2.5 AS value")
        yield made


ALLOWED = """
SELECT 1;
FROM samples
TABLE samples
VALUES (1), (2)
SELECT * FROM main.samples
SHOW TABLES
SHOW ALL TABLES
SHOW samples
DESCRIBE samples
DESCRIBE SELECT 1
SUMMARIZE samples
SUMMARIZE SELECT 1
SELECT table_name FROM information_schema.tables
EXPLAIN SELECT 1
explain analyze SELECT 1
/* why */ EXPLAIN /* how */ SELECT 1
WITH RECURSIVE t AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM t WHERE a < 4) SELECT count(*) FROM t
WITH a AS MATERIALIZED (SELECT 1 AS x), b AS (FROM a) SELECT * FROM b, a
SELECT (SELECT max(value) FROM samples), EXISTS (FROM samples), value IN (SELECT 1), value = ANY (SELECT 1) FROM samples
SELECT * EXCLUDE (value) REPLACE (1 AS channel_id) FROM samples
SELECT COLUMNS('v.*') FROM samples
SELECT DISTINCT ON (channel_id) value FROM samples ORDER BY ts DESC NULLS LAST, value ASC LIMIT 10 OFFSET 2
SELECT * FROM samples ORDER BY ALL LIMIT 10%
SELECT * FROM samples TABLESAMPLE 10%
SELECT * FROM samples USING SAMPLE 5 ROWS
SELECT * FROM samples a JOIN samples b USING (channel_id) LEFT JOIN samples c ON a.ts = c.ts CROSS JOIN range(3)
SELECT * FROM samples a ASOF JOIN samples b ON a.channel_id = b.channel_id AND a.ts >= b.ts
SELECT * FROM samples SEMI JOIN samples b USING (channel_id)
SELECT * FROM samples a POSITIONAL JOIN samples b
SELECT * FROM samples UNION ALL BY NAME SELECT * FROM samples EXCEPT SELECT * FROM samples
SELECT channel_id, count(*) FILTER (WHERE value > 1) FROM samples GROUP BY ROLLUP (channel_id) HAVING count(*) > 0
SELECT value FROM samples QUALIFY row_number() OVER (PARTITION BY channel_id ORDER BY ts) = 1
SELECT avg(value) OVER w, lag(value) OVER w FROM samples WINDOW w AS (PARTITION BY channel_id ORDER BY ts RANGE BETWEEN INTERVAL 1 MINUTE PRECEDING AND CURRENT ROW)
SELECT quantile_cont(value, 0.99), arg_max(value, ts), string_agg(value::VARCHAR, ',' ORDER BY ts) FROM samples
SELECT list_transform([1], lambda x: x + 1), [x FOR x IN [1, 2] IF x > 1], {'a': 1}.a, MAP {'a': 1}['a'], [1, 2][1:2]
SELECT CASE value WHEN 1 THEN 2 ELSE 3 END, value BETWEEN 1 AND 2, value IS NULL, NOT value = 1 OR -value > 2 FROM samples
SELECT value::DECIMAL(10, 2), TRY_CAST('x' AS DOUBLE), 'a'::ENUM ('a'), NULL::STRUCT (x INT)[], x'ab', 1e5 FROM samples
SELECT time_bucket(INTERVAL 1 MINUTE, ts), extract(hour FROM ts), TIMESTAMP '2026-01-31 12:00:00', ts AT TIME ZONE 'UTC' FROM samples
SELECT 'a' LIKE 'b%', 'a' SIMILAR TO 'b', 'a' ~ 'b', 'a' || 'b', 'a' COLLATE nocase, 'it''s; DROP TABLE x'
SELECT now(), random(), uuid(), current_date, pi()
PIVOT samples ON channel_id IN (1, 2) USING avg(value)
UNPIVOT samples ON value
SELECT * FROM (VALUES (1, 2)) v(x, y), generate_series(1, 3) g(i), unnest([1, 2]) u(j)
SELECT value AS "odd name" FROM samples -- a remark; with a semicolon
""".strip().splitlines()


@pytest.mark.parametrize("query", ALLOWED)
def test_a_statement_that_reads_passes(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    checked = check(connection, query, view_names())
    assert connection.sql(checked).fetchall() is not None


WRITES = """
COPY samples TO 'f'
COPY (SELECT 1) TO 'f' (FORMAT parquet)
COPY samples FROM 'f'
WITH x AS (COPY samples TO 'f') SELECT * FROM x
WITH a AS (SELECT 1), x AS MATERIALIZED (COPY (FROM a) TO 'f') SELECT * FROM a
WITH x AS (DELETE FROM samples RETURNING 1) SELECT * FROM x
WITH x AS (INSERT INTO samples VALUES (1) RETURNING 1) SELECT * FROM x
WITH x AS (UPDATE samples SET value = 0 RETURNING 1) SELECT * FROM x
SELECT * FROM (WITH x AS (COPY samples TO 'f') SELECT * FROM x)
SELECT (WITH x AS (COPY samples TO 'f') SELECT count(*) FROM x)
SELECT 1 UNION ALL (WITH x AS (COPY samples TO 'f') SELECT count(*) FROM x)
SELECT * FROM samples WHERE value IN (WITH x AS (COPY samples TO 'f') SELECT 1 FROM x)
EXPLAIN ANALYZE COPY samples TO 'f'
EXPLAIN ANALYZE WITH x AS (COPY samples TO 'f') SELECT * FROM x
EXPLAIN COPY samples TO 'f'
/* EXPLAIN */ EXPLAIN ANALYZE COPY samples TO 'f'
EXPLAIN EXPLAIN COPY samples TO 'f'
EXPLAIN ANALYZE SELECT 1; COPY samples TO 'f'
DESCRIBE COPY samples TO 'f'
EXPORT DATABASE 'd'
IMPORT DATABASE 'd'
ATTACH 'x.db'
DETACH memory
CREATE TABLE t AS SELECT 1
CREATE MACRO m() AS 1
INSERT INTO samples VALUES (1)
DELETE FROM samples
UPDATE samples SET value = 1
TRUNCATE samples
MERGE INTO samples USING samples ON true WHEN MATCHED THEN DELETE
DROP VIEW samples
ALTER TABLE samples RENAME TO x
CHECKPOINT
VACUUM
CALL enable_logging('QueryLog')
COMMENT ON VIEW samples IS 'x'
INSTALL httpfs
LOAD httpfs
SET threads = 1
SET VARIABLE x = 1
RESET threads
PRAGMA database_list
USE memory
PREPARE x AS SELECT 1
EXECUTE x
DEALLOCATE x
BEGIN
""".strip().splitlines()
ELSEWHERE = """
SELECT * FROM read_csv('/etc/passwd')
SELECT * FROM READ_TEXT('/etc/passwd')
SELECT * FROM "read_blob"('/etc/passwd')
SELECT * FROM system.main.read_csv('/etc/passwd')
SELECT * FROM '/etc/passwd'
FROM "/etc/passwd"
DESCRIBE '/etc/passwd'
SUMMARIZE 'x.parquet'
SHOW '/etc/passwd'
SELECT * FROM read_parquet('f')
SELECT * FROM parquet_metadata('f')
SELECT * FROM glob('/etc/*')
SELECT * FROM sniff_csv('/etc/passwd')
SELECT * FROM query('FROM read_text(''/etc/passwd'')')
SELECT * FROM query_table('samples')
SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))
SELECT (SELECT content FROM read_text('/etc/passwd'))
SELECT * FROM samples, LATERAL (SELECT * FROM read_csv('/etc/passwd'))
SELECT * FROM arrow_scan(1, 2, 3)
SELECT * FROM pandas_scan(1)
SELECT * FROM duckdb_settings()
SELECT * FROM duckdb_secrets()
SELECT * FROM pg_catalog.pg_tables
SELECT * FROM temp.lake_samples
SELECT * FROM connection
SELECT getenv('HOME')
SELECT getvariable('x')
SELECT GETVARIABLE('x')
SELECT current_setting('home_directory')
SELECT nextval('x')
SELECT sleep_ms(1)
SELECT write_log('x')
WITH "/etc/passwd" AS (SELECT 1) SELECT * FROM '/etc/group'
WITH duckdb_logs AS (SELECT 1) SELECT * FROM duckdb_logs
SELECT * FROM (WITH pg_settings AS (SELECT 1) SELECT 1), pg_settings
WITH SQLite_Master AS (SELECT 1) SELECT * FROM main.sqlite_master
""".strip().splitlines()
COUNTS = [
    "SELECT 1; SELECT 2",
    "SELECT 1; COPY samples TO 'f'",
    "EXPLAIN SELECT 1; SELECT 2",
    "",
    ";",
    "-- nothing",
    "EXPLAIN",
    "EXPLAIN (FORMAT json) SELECT 1",
    "SELECT ?",
    "SELECT $name",
    "PIVOT samples ON channel_id USING avg(value)",
    "SELECT '\0",
]


@pytest.mark.parametrize("query", [*WRITES, *ELSEWHERE, *COUNTS])
def test_any_other_statement_is_refused_in_one_line(
    connection: duckdb.DuckDBPyConnection, query: str
) -> None:
    with pytest.raises(UsageError) as caught:
        check(connection, query, view_names())
    assert str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_refusal_names_what_is_refused(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(UsageError, match=r"^COPY is not allowed: a query may only read"):
        check(connection, "WITH x AS (COPY samples TO 'f') SELECT * FROM x", view_names())
    with pytest.raises(UsageError, match="2 statements; give exactly one"):
        check(connection, "SELECT 1; SELECT 2", view_names())


def test_what_an_explain_runs_is_what_was_checked(connection: duckdb.DuckDBPyConnection) -> None:
    assert check(connection, "/* a */ explain\tanalyze  SELECT 1", view_names()).split() == [
        "EXPLAIN", "analyze", "SELECT", "1",
    ]  # fmt: skip


def test_no_view_of_the_engine_can_pass_for_a_name_given_by_with(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    query = "SELECT view_name FROM duckdb_views() WHERE internal AND schema_name <> 'information_schema'"
    names = [name for (name,) in connection.sql(query).fetchall()]
    assert len(names) > 20
    for name in names:
        with pytest.raises(UsageError, match=f"no view '{name}'"):
            check(connection, f"SELECT * FROM (WITH {name} AS (SELECT 1) SELECT 1), {name}", view_names())
