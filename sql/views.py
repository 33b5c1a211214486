"""The views over lake and state: made in a connection, and described for people from the same file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset

from hostsight.folders import DataFolder
from hostsight.timerange import TimeRange
from ingest.lake import KINDS, Kind, Lake
from ingest.store import SAMPLES
from sql.engine import blocks, code, quote_path, statement
from sql.schemas import FEATURES, SCORES
from sql.state import state, state_table

LAKE_SCHEMAS: dict[Kind, pa.Schema] = {"samples": SAMPLES, "features": FEATURES, "scores": SCORES}

_PARQUET = pyarrow.dataset.ParquetFileFormat(
    default_fragment_scan_options=pyarrow.dataset.ParquetFragmentScanOptions(page_checksum_verification=True)
)
"""A flipped bit is an error then, not a wrong figure."""

_COLUMN = re.compile(r"^-- (\w+)\s{2,}([A-Z_]+)\s{2,}(.+)$")
_SOURCE = re.compile(r"\b(lake|state)_(\w+)")


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str
    meaning: str


@dataclass(frozen=True, slots=True)
class View:
    """It reads one kind of lake file or one table of the state database; the other of the two is None."""

    name: str
    meaning: str
    columns: tuple[Column, ...]
    text: str
    lake: Kind | None
    state: str | None


@lru_cache(maxsize=1)
def views() -> tuple[View, ...]:
    """All views, in the order of `views.sql`."""
    return tuple(_view(name, body) for name, body in blocks(statement("views")).items())


def view_names() -> frozenset[str]:
    return frozenset(view.name for view in views())


def _view(name: str, body: str) -> View:
    meaning, _, rest = body.partition("\n--\n")
    columns = tuple(Column(*found.groups()) for found in map(_COLUMN.match, rest.splitlines()) if found)
    text = code(body)
    source = _SOURCE.search(text)
    if source is None:
        raise ValueError(f"sql/views.sql: view {name} reads neither lake nor state")
    sentence = " ".join(line.removeprefix("-- ") for line in meaning.splitlines())
    kind = next((kind for kind in KINDS if source[0] == f"lake_{kind}"), None)
    return View(name, sentence, columns, text, kind, None if kind else source[2])


def create_views(
    connection: duckdb.DuckDBPyConnection,
    data: DataFolder,
    span: TimeRange | None = None,
    *,
    names: Sequence[str] | None = None,
    host: str | None = None,
) -> None:
    """Make the views, or make them anew, over what is stored now; one without data is empty and typed.

    `span` and `host` leave out lake files that lie outside; `names` are the views wanted, all by default. State rows are
    copied. Lake files are read when a query runs: one that compaction replaced since raises duckdb.IOException.
    """
    lake = Lake(data)
    wanted = [view for view in views() if names is None or view.name in names]
    for view in wanted:
        if view.lake:
            paths = [file.path for file in lake.files(view.lake, host=host, span=span)]
            connection.execute(_parquet_view(view.lake, paths))
            connection.execute(f"CREATE OR REPLACE VIEW {view.name} AS {view.text}")
    _copy_state(connection, data, wanted)


def create_arrow_views(connection: duckdb.DuckDBPyConnection, data: DataFolder) -> None:
    """The same views for a connection that may open no file: pyarrow reads the lake's files on its behalf."""
    lake = Lake(data)
    for view in views():
        if view.lake:
            paths = [str(file.path) for file in lake.files(view.lake)]
            connection.register(view.name, _dataset(paths, LAKE_SCHEMAS[view.lake]))
    _copy_state(connection, data, views())


def _parquet_view(kind: Kind, paths: Sequence[Path]) -> str:
    name = f"lake_{kind}"
    if not paths:
        fields = LAKE_SCHEMAS[kind]
        nothing = ", ".join(f'NULL::{_duckdb_type(field.type)} AS "{field.name}"' for field in fields)
        return (
            f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT {nothing} WHERE false"  # names of our own schemas
        )
    listed = ", ".join(quote_path(path) for path in paths)
    return f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT * FROM read_parquet([{listed}], hive_partitioning = false)"  # noqa: S608  # quoted by quote_path


def _duckdb_type(kind: pa.DataType) -> str:
    return {"timestamp[ns]": "TIMESTAMP_NS", "int64": "BIGINT", "int32": "INTEGER", "float": "FLOAT",
            "double": "DOUBLE", "string": "VARCHAR"}[str(kind)]  # fmt: skip


def _dataset(paths: Sequence[str], schema: pa.Schema) -> pa.Table | pyarrow.dataset.Dataset:
    if not paths:
        return schema.empty_table()
    return pyarrow.dataset.dataset(paths, schema=schema, format=_PARQUET)


def _copy_state(connection: duckdb.DuckDBPyConnection, data: DataFolder, wanted: Sequence[View]) -> None:
    tables = [(view, view.state) for view in wanted if view.state]
    if not tables:
        return
    with state(data) as database:
        for view, table in tables:
            connection.register(f"state_{table}", state_table(database, table))
            connection.execute(f"CREATE OR REPLACE TABLE {view.name} AS {view.text}")
            connection.unregister(f"state_{table}")
