"""Runs the `.sql` files of this package on an in-memory DuckDB: files hold the text, values are bound."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import duckdb
import pyarrow as pa

Bound = Mapping[str, object]
"""Values of a statement's `$name` parameters."""

NO_PROGRESS = "SET enable_progress_bar = false"
"""In a process without a main file DuckDB takes itself for interactive, and draws a bar on the standard output."""

_BLOCK = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
_PARAMETER = re.compile(r"\$([a-z_]+)")


def connect(threads: int = 2) -> duckdb.DuckDBPyConnection:
    """A database in memory that installs nothing, spills nothing to disk, keeps no file in memory and prints nothing.

    Use it from one thread at a time.
    """
    connection = duckdb.connect(
        config={
            "threads": threads,
            "temp_directory": "",
            "enable_external_file_cache": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
        }
    )
    connection.execute(NO_PROGRESS)
    return connection


@lru_cache(maxsize=128)
def statement(name: str, block: str | None = None) -> str:
    """The text of `sql/NAME.sql`, or of its part below the line `-- name: BLOCK`."""
    text = files(__package__).joinpath(f"{name}.sql").read_text("utf-8")
    return text if block is None else blocks(text)[block]


def blocks(text: str) -> dict[str, str]:
    """The named parts of a file: each begins with a line `-- name: NAME`."""
    parts = _BLOCK.split(text)
    return {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def code(text: str) -> str:
    """The text without its comment lines."""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--")).strip()


def names(folder: str) -> tuple[str, ...]:
    """The `.sql` files of a folder of this package, without the ending, sorted."""
    found = files(__package__).joinpath(folder).iterdir()
    return tuple(sorted(file.name[:-4] for file in found if file.name.endswith(".sql")))


def parameters(text: str) -> frozenset[str]:
    """Names of the `$name` parameters that a statement binds."""
    return frozenset(_PARAMETER.findall(code(text)))


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text, without its comments, with these pieces of SQL in the place of its `$name` parameters."""
    return _PARAMETER.sub(lambda found: values[found[1]], code(text))


def fetch(connection: duckdb.DuckDBPyConnection, text: str, bound: Bound | None = None) -> pa.Table:
    """Run one statement and give its rows; `bound` may hold more than the statement uses."""
    used = {name: value for name, value in (bound or {}).items() if name in parameters(text)}
    return connection.sql(text, params=used or None).to_arrow_table()


def quote_path(path: Path) -> str:
    """`path` as an SQL string literal that names this one file: a view's text cannot hold bound values.

    DuckDB expands `*`, `?` and `[` in paths, so those stand in brackets.
    """
    literal = re.sub(r"([*?\[])", r"[\1]", str(path))
    return "'" + literal.replace("'", "''") + "'"
