"""Ad-hoc SQL against a real small lake: what it gives, and that it can neither write, read elsewhere nor hang."""

from __future__ import annotations

import hashlib
import os
import select
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from hostsight.clock import SECOND_NS
from hostsight.errors import StorageError, UsageError
from hostsight.folders import DataFolder
from hostsight.settings import Duration, Size, SqlSettings
from hostsight.timerange import TimeRange
from ingest.lake import Lake
from ingest.store import SAMPLES
from migrations import open_state
from sql.adhoc import run_query, start_query
from sql.views import create_arrow_views
from sql.worker import locked_connection

START = 1_700_000_000 * SECOND_NS
LIMITS = SqlSettings(timeout=Duration(20), memory=Size(400_000_000))
Fingerprint = dict[str, tuple[str, int, int]]


@pytest.fixture
def lake(data: DataFolder) -> DataFolder:
    """Two channels at 10 Hz for two minutes in two files, and a state database with one episode."""
    for minute in range(2):
        start = START + minute * 60 * SECOND_NS
        ts = np.tile(start + np.arange(600) * (SECOND_NS // 10), 2)
        table = pa.table(
            {
                "ts": pa.array(ts).cast(pa.timestamp("ns")),
                "channel_id": np.repeat([3, 8], 600),
                "value": np.arange(1200, dtype=np.float32),
                "dt": np.full(1200, 0.1, np.float32),
            },
            schema=SAMPLES,
        )
        Lake(data).write("samples", "gpu01", TimeRange(start, start + 60 * SECOND_NS), table)
    with open_state(data.state_db) as state:
        state.execute("INSERT INTO models VALUES ('m1', 'gpu01', 'live', 1, 2, 3, 100, 2, 2, 'first')")
        state.execute(
            "INSERT INTO episodes VALUES (7, 'gpu01', 'open', ?, ?, NULL, 'warning', 9.5, 1, 'cpu', 'cpu0', "
            "'busy_percent', NULL, '[red]it''s hot[/]', 'm1', ?, NULL, NULL, NULL, NULL, '')",
            (START, START, START),
        )
    state.close()
    return data


def fingerprint(folder: Path) -> Fingerprint:
    """Content, size and time of each file below `folder`; the state database's own side files aside."""
    return {
        str(path.relative_to(folder)): (
            hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_size, path.stat().st_mtime_ns
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith("state.db-")
    }  # fmt: skip


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def first_file(data: DataFolder) -> Path:
    return Lake(data).files("samples")[0].path


def test_a_query_reads_lake_and_state_as_one_database(lake: DataFolder) -> None:
    result = run_query(
        lake,
        LIMITS,
        "SELECT e.id, e.summary, count(*) AS n, max(s.value) AS top "
        "FROM samples s, episodes e WHERE s.ts >= e.opened AND s.channel_id = 8 GROUP BY ALL",
    )
    assert result.table.to_pylist() == [{"id": 7, "summary": "[red]it's hot[/]", "n": 1200, "top": 1199.0}]
    assert not result.truncated


def test_nanoseconds_survive(lake: DataFolder) -> None:
    table = run_query(
        lake, LIMITS, "SELECT min(ts) + INTERVAL 0 SECOND AS t, min(ts) AS ts FROM samples"
    ).table
    assert table["ts"].cast(pa.int64()).to_pylist() == [START]


def test_now_is_in_utc_wherever_the_machine_is(lake: DataFolder) -> None:
    asked = (
        "from sql.worker import locked_connection as c; print(c(10**8).sql("
        '"SELECT abs(epoch(now()::TIMESTAMP) - epoch(now())) < 60").fetchall())'
    )
    elsewhere = os.environ | {"TZ": "America/New_York"}
    done = subprocess.run([sys.executable, "-c", asked], env=elsewhere, capture_output=True, check=True)
    assert done.stdout == b"[(True,)]\n"

    with pytest.raises(UsageError, match=r"explicit cast is required; write now\(\)::TIMESTAMP"):
        run_query(lake, LIMITS, "FROM samples WHERE ts > now()")


def test_one_row_more_than_asked_for_says_that_there_is_more(lake: DataFolder) -> None:
    query = "SELECT value FROM samples WHERE channel_id = 3 ORDER BY ts, value"
    result = run_query(lake, LIMITS, query, rows=5)
    assert (result.table["value"].to_pylist(), result.truncated) == ([0, 1, 2, 3, 4], True)
    assert not run_query(lake, LIMITS, query, rows=1200).truncated


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SHOW TABLES", ["attributions", "channels", "episodes", "features", "job_runs", "models", "samples", "scores"]),
        ("DESCRIBE samples", ["ts", "channel_id", "value", "dt"]),
        ("SUMMARIZE samples", ["ts", "channel_id", "value", "dt"]),
        ("EXPLAIN ANALYZE SELECT count(*) FROM samples", ["analyzed_plan"]),
    ],
)  # fmt: skip
def test_what_reads_is_allowed(lake: DataFolder, query: str, expected: list[object]) -> None:
    assert run_query(lake, LIMITS, query).table.column(0).to_pylist() == expected


def test_an_empty_data_folder_gives_empty_typed_views(data: DataFolder) -> None:
    table = run_query(data, LIMITS, "SELECT ts, value, id FROM samples, episodes").table
    assert table.num_rows == 0
    assert table.schema.types == [pa.timestamp("ns"), pa.float32(), pa.int64()]
    assert not data.state_db.exists()


REFUSED = [
    "COPY samples TO '{file}'",
    "WITH x AS (COPY samples TO '{file}') SELECT * FROM x",
    "WITH x AS (DELETE FROM episodes RETURNING id) SELECT * FROM x",
    "EXPLAIN ANALYZE COPY samples TO '{file}'",
    "EXPORT DATABASE '{folder}'",
    "ATTACH '{other}' AS other",
    "INSTALL httpfs",
    "SET enable_external_access = true",
    "SELECT * FROM read_csv('/etc/passwd')",
    "FROM '{file}'",
    "FROM request",
    "SELECT 1; COPY samples TO '{file}'",
]
"""What the guard refuses, through the whole way; `test_guard.py` has many more."""


@pytest.mark.parametrize("query", REFUSED)
def test_what_does_not_only_read_is_refused_and_changes_nothing(lake: DataFolder, query: str) -> None:
    places = {"file": first_file(lake), "other": lake.lake / "new.parquet", "folder": lake.lake}
    before = fingerprint(lake.root)
    with pytest.raises(UsageError) as caught:
        run_query(lake, LIMITS, query.format_map(places))
    assert str(caught.value)
    assert "\n" not in str(caught.value)
    assert fingerprint(lake.root) == before


BEHIND_THE_GUARD = [
    "COPY samples TO '{file}'",
    "COPY (SELECT 1) TO '{other}'",
    "WITH x AS (COPY samples TO '{file}') SELECT * FROM x",
    "EXPLAIN ANALYZE COPY samples TO '{file}'",
    "EXPORT DATABASE '{folder}'",
    "IMPORT DATABASE '{folder}'",
    "ATTACH '{other}' AS other",
    "INSTALL httpfs",
    "LOAD '/tmp/x.duckdb_extension'",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET temp_directory = '/tmp'",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM read_parquet('{file}')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM query('FROM read_text(''/etc/passwd'')')",
    "SELECT * FROM python_variable",
]


@pytest.mark.parametrize("query", BEHIND_THE_GUARD)
def test_the_engine_itself_refuses_what_the_guard_might_miss(lake: DataFolder, query: str) -> None:
    python_variable = pa.table({"a": [1]})
    places = {"file": first_file(lake), "other": lake.lake / "new.parquet", "folder": lake.lake}
    before = fingerprint(lake.root)
    with locked_connection(LIMITS.memory) as connection:
        create_arrow_views(connection, lake)
        with pytest.raises(duckdb.Error):
            connection.sql(query.format_map(places)).fetchall()
    assert python_variable.num_rows == 1
    assert fingerprint(lake.root) == before


TOO_MUCH = [
    "SELECT unnest(range(1000000000))",
    "SELECT length(repeat('x', 2000000000))",
    "SELECT string_agg(repeat('x', 1000000), '') FROM range(2000)",
    "SELECT list(x) FROM range(1000000000) t(x)",
    "SELECT reservoir_quantile(range, 0.5, 2000000000) FROM range(10)",
]


@pytest.mark.parametrize("query", TOO_MUCH)
def test_what_needs_too_much_memory_is_told_so(lake: DataFolder, query: str) -> None:
    with pytest.raises(UsageError, match=r"memory = 400MB"):
        run_query(lake, LIMITS, query, rows=10)


@pytest.mark.parametrize(
    "query",
    [
        "WITH RECURSIVE t AS (SELECT 1 AS a UNION ALL SELECT 1 FROM t) SELECT count(*) FROM t",
        "SELECT count(*) FROM range(1000000000000)",
        "SELECT count(*) FROM samples a, samples b, samples c, samples d WHERE a.value + b.value + c.value > d.value",
    ],
)
def test_what_never_ends_is_stopped(lake: DataFolder, query: str) -> None:
    before = fingerprint(lake.root)
    with pytest.raises(UsageError, match=r"stopped after \[sql\] timeout = 1s500ms"):
        run_query(lake, SqlSettings(timeout=Duration(1.5), memory=Size(400_000_000)), query)
    assert fingerprint(lake.root) == before


def test_a_result_larger_than_the_memory_allowed_is_not_fetched(lake: DataFolder) -> None:
    with pytest.raises(UsageError, match="result is larger than"):
        run_query(lake, SqlSettings(memory=Size(80_000_000)), "SELECT * FROM range(1000000000)")


def test_a_deeply_nested_query_is_refused(lake: DataFolder) -> None:
    with pytest.raises(UsageError, match="nested too deeply"):
        run_query(lake, LIMITS, f"SELECT {'(' * 5000}1{')' * 5000}")


def test_a_mistake_is_told_in_the_engine_s_words(lake: DataFolder) -> None:
    with pytest.raises(UsageError, match=r'Referenced column "valeu" not found .* "value"'):
        run_query(lake, LIMITS, "SELECT valeu FROM samples")


def test_a_long_mistake_is_cut_and_told_at_once(lake: DataFolder) -> None:
    with pytest.raises(UsageError, match=r"^x{1000} \.\.\.$"):
        run_query(lake, LIMITS, "SELECT error(repeat('x', 3000000))")


def test_a_query_that_is_no_text_is_refused(lake: DataFolder) -> None:
    with pytest.raises(UsageError, match="not valid UTF-8"):
        run_query(lake, LIMITS, "SELECT '\udcff'")


def test_a_process_that_cannot_start_says_why(lake: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    with pytest.raises(StorageError, match="No such file"):
        run_query(lake, LIMITS, "SELECT 1")
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(StorageError, match="process failed \\(1\\)"):
        run_query(lake, LIMITS, "SELECT 1")


def test_an_unknown_view_names_the_nearest(lake: DataFolder) -> None:
    with pytest.raises(UsageError, match="no view 'sample' \\(did you mean 'samples'\\?\\)"):
        run_query(lake, LIMITS, "SELECT * FROM sample")


def test_a_running_query_can_be_cancelled(lake: DataFolder) -> None:
    query = start_query(lake, LIMITS, "SELECT count(*) FROM range(1000000000000)")
    assert query.wait(0.01) is None
    query.cancel()
    with pytest.raises(UsageError, match="cancelled"):
        query.wait(10)
    assert query.cancelled
    assert query.done


def test_cancelling_what_is_done_changes_nothing(lake: DataFolder) -> None:
    query = start_query(lake, LIMITS, "SELECT 1 AS one")
    assert query.wait(20) is not None
    query.cancel()
    result = query.wait(0)
    assert result is not None
    assert result.table.to_pylist() == [{"one": 1}]


def test_queries_run_beside_each_other(lake: DataFolder) -> None:
    running = [start_query(lake, LIMITS, f"SELECT {number} AS a") for number in range(3)]
    results = [query.wait(30) for query in running]
    assert [result.table["a"][0].as_py() for result in results if result] == [0, 1, 2]


def test_a_sql_folder_where_hostsight_is_started_is_not_imported(
    lake: DataFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sql").mkdir()
    (tmp_path / "sql" / "__init__.py").write_text("raise SystemExit(9)")
    monkeypatch.chdir(tmp_path)
    assert run_query(lake, LIMITS, "SELECT 1 AS a").table.num_rows == 1


def test_secrets_of_the_environment_stay_outside_the_query_s_process(
    lake: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOSTSIGHT_INFLUX_TOKEN", "s3cret")
    query = start_query(lake, LIMITS, "SELECT count(*) FROM range(1000000000000)")
    environment = Path(f"/proc/{query._process.pid}/environ").read_bytes()
    query.cancel()
    assert b"s3cret" not in environment
    assert b"ARROW_DEFAULT_MEMORY_POOL=system" in environment


CALLER = """
import sys
from pathlib import Path
from hostsight.folders import DataFolder
from hostsight.settings import SqlSettings
from sql.adhoc import start_query
query = start_query(DataFolder(Path(sys.argv[1])), SqlSettings(), "SELECT count(*) FROM range(1000000000000)")
print(query._process.pid, flush=True)
query.wait()
"""


def test_the_process_ends_when_its_caller_is_killed(lake: DataFolder) -> None:
    command = [sys.executable, "-c", CALLER, str(lake.root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as caller:
        assert caller.stdout is not None
        pid = int(caller.stdout.readline())
        watched = os.pidfd_open(pid)
        caller.kill()
    try:
        ended, _, _ = select.select([watched], [], [], 15)
        assert ended
    finally:
        os.close(watched)


def test_a_damaged_lake_file_is_named(lake: DataFolder) -> None:
    path = first_file(lake)
    path.write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    with pytest.raises((UsageError, StorageError), match=path.name.split("~")[0]):
        run_query(lake, LIMITS, "SELECT sum(value) FROM samples")


def test_no_thread_or_file_is_left_behind(lake: DataFolder) -> None:
    run_query(lake, LIMITS, "SELECT 1")
    threads, files = threading.active_count(), open_files()
    for _ in range(2):
        run_query(lake, LIMITS, "SELECT 1")
    assert open_files() <= files
    assert threading.active_count() <= threads + 1
