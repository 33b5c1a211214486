"""Opens `state.db`, bringing its schema up to date.

Each file of `versions/` runs once, in order, in a transaction of its own, and its SHA-256 is recorded. A database whose
recorded checksums differ from the files (tampered) or that holds a migration unknown here (newer) is refused.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from hostsight.errors import CorruptError, StorageError
from hostsight.files import make_folder

_NAME = re.compile(r"(\d{4})_(\w+)\.sql")
_LEDGER = """
CREATE TABLE IF NOT EXISTS schema_migrations (
  version INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL, applied_ns INTEGER NOT NULL
) STRICT
"""


@dataclass(frozen=True, slots=True)
class Migration:
    version: int
    name: str
    script: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.script.encode()).hexdigest()


@cache
def migrations() -> tuple[Migration, ...]:
    """Those shipped with this version, in order."""
    found = []
    for file in files(__package__).joinpath("versions").iterdir():
        match = _NAME.fullmatch(file.name)
        if match:
            found.append(Migration(int(match[1]), match[2], file.read_text("utf-8")))
    return tuple(sorted(found, key=lambda migration: migration.version))


SCHEMA_VERSION = len(migrations())


def open_state(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection in autocommit mode with WAL and foreign keys on; rows are `sqlite3.Row`.

    `read_only` neither creates nor migrates, and raises StorageError where there is no database yet.
    Use it from one thread only; `with transaction(connection)` groups writes.
    """
    if read_only and not path.exists():
        raise StorageError(
            f"{path.parent} holds no telemetry yet; start `hostsight up` there, or name another folder with --data"
        )
    try:
        return _open(path, read_only=read_only)
    except sqlite3.DatabaseError as error:
        if "not a database" in str(error) or "malformed" in str(error):
            raise CorruptError(
                f"{path} is damaged ({error}); move it away and start again: samples are kept in the spool and the lake"
            ) from error
        raise StorageError(
            f"{path} cannot be opened: {error}; check its rights, or choose another folder with --data"
        ) from error
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written: {error.strerror}; choose another folder with --data"
        ) from error


def _open(path: Path, *, read_only: bool) -> sqlite3.Connection:
    if not read_only:
        make_folder(path.parent)
        path.touch(mode=0o600)
    mode = "ro" if read_only else "rw"
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=10, isolation_level=None
    )
    try:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys = ON")
        if not read_only:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(_LEDGER)
        _bring_up_to_date(connection, path, read_only=read_only)
    except BaseException:
        connection.close()
        raise
    return connection


def _bring_up_to_date(connection: sqlite3.Connection, path: Path, *, read_only: bool) -> None:
    if read_only and not _has_ledger(connection):
        raise StorageError(
            f"{path} is not set up yet; `hostsight up` or `hostsight serve` does that, or name another folder with --data"
        )
    known = migrations()
    done = _check_ledger(connection, path, known)
    missing = [migration for migration in known if migration.version not in done]
    if missing and read_only:
        raise StorageError(
            f"{path} was made by an older hostsight; start `hostsight serve` once to bring it up to date"
        )
    for migration in missing:
        _apply(connection, migration)


def _has_ledger(connection: sqlite3.Connection) -> bool:
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_migrations'").fetchone()
    return found is not None


def _check_ledger(connection: sqlite3.Connection, path: Path, known: Sequence[Migration]) -> set[int]:
    rows = connection.execute(
        "SELECT version, name, sha256 FROM schema_migrations ORDER BY version"
    ).fetchall()
    by_version = {migration.version: migration for migration in known}
    for row in rows:
        migration = by_version.get(row["version"])
        if migration is None:
            raise StorageError(
                f"{path} was made by a newer hostsight (migration {row['version']:04d}_{row['name']}); upgrade hostsight, or choose another folder with --data"
            )
        if migration.sha256 != row["sha256"]:
            raise CorruptError(
                f"{path}: migration {migration.version:04d}_{migration.name} is not the one that was applied (checksum differs); restore the original hostsight, or move the database away"
            )
    return {row["version"] for row in rows}


def _apply(connection: sqlite3.Connection, migration: Migration) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        already = connection.execute(
            "SELECT 1 FROM schema_migrations WHERE version = ?", (migration.version,)
        ).fetchone()
        if already is None:
            for statement in statements(migration.script):
                connection.execute(statement)
            connection.execute(
                "INSERT INTO schema_migrations VALUES (?, ?, ?, ?)",
                (migration.version, migration.name, migration.sha256, time.time_ns()),
            )
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def statements(script: str) -> list[str]:
    """The script's statements; `executescript` would commit an open transaction."""
    found, pending = [], ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending)
            pending = ""
    return [*found, pending] if pending.strip() else found
