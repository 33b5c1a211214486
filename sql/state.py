"""Tables of the state database as Arrow, so that DuckDB needs no extension to read SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pyarrow as pa

from hostsight.errors import StorageError
from hostsight.folders import DataFolder
from migrations import open_state
from migrations.runner import migrations, statements

_TYPES = {"INTEGER": pa.int64(), "REAL": pa.float64(), "TEXT": pa.string()}


@contextmanager
def state(data: DataFolder) -> Iterator[sqlite3.Connection]:
    """The state database, read-only; an empty one of the same schema where there is none yet. Raises StorageError."""
    opened = open_state(data.state_db, read_only=True) if data.state_db.exists() else _empty()
    with closing(opened) as database:
        try:
            yield database
        except sqlite3.Error as error:
            raise StorageError(
                f"{data.state_db} cannot be read: {error}; it is read again in a moment"
            ) from error


def _empty() -> sqlite3.Connection:
    database = sqlite3.connect(":memory:")
    for migration in migrations():
        for text in statements(migration.script):
            database.execute(text)
    return database


def state_table(database: sqlite3.Connection, name: str) -> pa.Table:
    """All rows of one table. Text that is not UTF-8 shows replacement characters."""
    database.text_factory = lambda raw: raw.decode("utf-8", "replace")
    info = database.execute("SELECT name, type FROM pragma_table_info(?)", (name,)).fetchall()
    rows = database.execute(f'SELECT * FROM "{name}"').fetchall()  # noqa: S608  # a name of views.sql
    columns = zip(*rows, strict=True) if rows else [()] * len(info)
    arrays = [pa.array(values, _TYPES[kind]) for (_, kind), values in zip(info, columns, strict=True)]
    return pa.table(arrays, names=[column for column, _ in info])
