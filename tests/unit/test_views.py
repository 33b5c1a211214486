"""The eight views: documented columns, typed when empty, over real Parquet files and a real state database."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from hostsight.clock import SECOND_NS
from hostsight.errors import StorageError
from hostsight.folders import DataFolder
from hostsight.timerange import TimeRange
from ingest.lake import Lake
from ingest.store import SAMPLES
from migrations import open_state
from sql.documentation import views_markdown
from sql.engine import connect, quote_path
from sql.schemas import FEATURES, SCORES
from sql.state import state, state_table
from sql.views import create_arrow_views, create_views, view_names, views

REPOSITORY = Path(__file__).resolve().parents[2]
START = 1_700_000_000 * SECOND_NS
NAMES = ["samples", "channels", "features", "scores", "episodes", "attributions", "models", "job_runs"]
PROMISED = {
    "samples": "ts channel_id value",
    "channels": "channel_id host subsystem device metric kind unit period_seconds source first_seen last_seen",
    "features": "window_end channel_id n mean std min max slope",
    "scores": "window_end host detector score tail_probability model",
    "episodes": "id host state opened last_seen closed severity score confidence subsystem device metric cause summary",
    "attributions": "subsystem device metric share expected actual unit direction",
}


def span(start: float, end: float) -> TimeRange:
    return TimeRange(START + round(start * SECOND_NS), START + round(end * SECOND_NS))


def stamps(*seconds: float) -> pa.Array:
    return pa.array([START + round(s * SECOND_NS) for s in seconds], pa.int64()).cast(pa.timestamp("ns"))


def fill(data: DataFolder, host: str = "gpu01", start: float = 0, value: float = 1.5) -> None:
    """A second of each kind."""
    lake, second = Lake(data), span(start, start + 1)
    sample = {"ts": stamps(start), "channel_id": [7], "value": [value], "dt": [0.1]}
    lake.write("samples", host, second, pa.table(sample).cast(SAMPLES))
    feature = {
        "window_end": stamps(start + 1), "channel_id": [7], "n": [10], "mean": [value], "std": [0.0],
        "min": [value], "max": [value], "slope": [None],
    }  # fmt: skip
    lake.write("features", host, second, pa.table(feature).cast(FEATURES))
    score = {
        "window_end": stamps(start + 1), "host": [host], "detector": ["fused"], "score": [3.0],
        "tail_probability": [0.01], "model": ["m1"],
    }  # fmt: skip
    lake.write("scores", host, second, pa.table(score).cast(SCORES))


def rows(
    data: DataFolder, query: str, within: TimeRange | None = None, host: str | None = None
) -> list[tuple[object, ...]]:
    with connect() as connection:
        create_views(connection, data, within, host=host)
        return connection.sql(query).fetchall()


def test_there_are_the_eight_views_that_analysts_were_promised() -> None:
    assert [view.name for view in views()] == NAMES
    assert view_names() == frozenset(NAMES)
    for view in views():
        names = [column.name for column in view.columns]
        assert set(PROMISED.get(view.name, "").split()) <= set(names)


@pytest.mark.parametrize("arrow", [False, True])
@pytest.mark.parametrize("filled", [False, True])
def test_documented_columns_and_types_are_those_a_view_has(
    data: DataFolder, arrow: bool, filled: bool
) -> None:
    if filled:
        fill(data)
        open_state(data.state_db).close()
    with connect() as connection:
        if arrow:
            create_arrow_views(connection, data)
        else:
            create_views(connection, data)
        for view in views():
            described = connection.sql(f"DESCRIBE {view.name}").fetchall()
            assert [row[:2] for row in described] == [(column.name, column.type) for column in view.columns]


def test_lake_rows_are_seen_by_both_ways_of_reading(data: DataFolder) -> None:
    fill(data)
    query = "SELECT value, dt::DECIMAL(3, 2) = 0.1, mean, slope, detector FROM samples, features, scores"
    with connect() as connection:
        create_arrow_views(connection, data)
        assert connection.sql(query).fetchall() == [(1.5, True, 1.5, None, "fused")]
    assert rows(data, query) == [(1.5, True, 1.5, None, "fused")]


def test_a_span_or_host_leaves_out_other_files(data: DataFolder) -> None:
    fill(data, value=1)
    fill(data, start=60, value=2)
    fill(data, host="gpu02", value=3)
    query = "SELECT value FROM samples ORDER BY value"
    assert rows(data, query) == [(1,), (2,), (3,)]
    assert rows(data, query, span(50, 70)) == [(2,)]
    assert rows(data, query, host="gpu02") == [(3,)]


def test_state_times_become_timestamps(data: DataFolder) -> None:
    state = open_state(data.state_db)
    state.execute(
        "INSERT INTO job_runs (job, state, started_ns, finished_ns, items) VALUES ('refit', 'ok', ?, NULL, 3)",
        (START + 5,),
    )
    state.close()
    assert rows(data, "SELECT epoch_ns(started), finished, items FROM job_runs") == [(START + 5, None, 3)]


def test_text_that_is_not_utf8_does_not_hide_a_row(data: DataFolder) -> None:
    state = open_state(data.state_db)
    state.execute(
        "INSERT INTO job_runs (job, state, started_ns, error) VALUES ('x', 'failed', 1, CAST(x'61ff62' AS TEXT))"
    )
    state.close()
    assert rows(data, "SELECT error FROM job_runs") == [("a\ufffdb",)]


def test_a_state_database_that_fails_while_it_is_read_is_a_storage_error(data: DataFolder) -> None:
    open_state(data.state_db).close()
    with (
        pytest.raises(StorageError, match=r"state\.db cannot be read: no such table"),
        state(data) as database,
    ):
        state_table(database, "gone")


def test_only_the_views_asked_for_are_made(data: DataFolder) -> None:
    with connect() as connection:
        create_views(connection, data, names=["samples", "channels"])
        made = connection.sql("SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'")
        assert {"samples", "channels"} <= {name for (name,) in made.fetchall()}
        assert ("episodes",) not in made.fetchall()


@pytest.mark.parametrize("name", ["it's [odd] *? ünï", "value=3", "ts=x", "%41 #1 ;--"])
def test_the_data_folder_s_path_is_taken_literally(tmp_path: Path, name: str) -> None:
    data = DataFolder(tmp_path / name).create()
    fill(data)
    assert rows(data, "SELECT value FROM samples") == [(1.5,)]
    with connect() as connection:
        create_arrow_views(connection, data)
        assert connection.sql("SELECT value FROM samples").fetchall() == [(1.5,)]


def test_a_quoted_path_is_one_sql_literal() -> None:
    assert quote_path(Path("/a'b/[c]*.parquet")) == "'/a''b/[[]c][*].parquet'"


def test_the_documentation_is_up_to_date() -> None:
    assert (REPOSITORY / "docs" / "views.md").read_text("utf-8") == views_markdown()


def test_the_documentation_s_queries_run(data: DataFolder) -> None:
    fill(data)
    (text,) = re.findall(r"```sql\n(.*?)```", views_markdown(), re.DOTALL)
    for query in text.strip().removesuffix(";").split(";\n"):
        assert rows(data, query) == []
