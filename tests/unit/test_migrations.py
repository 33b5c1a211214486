from __future__ import annotations

import sqlite3
import stat
import threading
from pathlib import Path

import pytest

from hostsight.errors import CorruptError, StorageError
from migrations import SCHEMA_VERSION, open_state
from migrations.runner import Migration, migrations, statements
from migrations.transaction import transaction

RELEASED = {
    "0001_initial": "d89b2a4dc59ee08b92882a96f7d060cd409d6a9e6df6242b9e08952ce8fe3e19",
    "0002_drains": "a56cabac5a2f6f89f9f2ebe28dca28e93bc07d5e4de47b581c40d324ccb91c0e",
    "0003_operations": "9ad41284a4c1b220f0008c83b2adc04a7b2eb280442b55800b6b0733f4c6454f",
    "0004_regimes": "91a399ad15c23c69d7b8151ff6d10ccb62aa5a2689231248633b1f9bd87b7521",
}
"""A released migration never changes; a change of schema is a new file."""


def ledger(connection: sqlite3.Connection) -> list[str]:
    rows = connection.execute(
        "SELECT printf('%04d_%s', version, name) FROM schema_migrations ORDER BY version"
    )
    return [row[0] for row in rows]


def test_released_migrations_are_what_they_were() -> None:
    found = {f"{migration.version:04d}_{migration.name}": migration.sha256 for migration in migrations()}
    assert {name: found.get(name) for name in RELEASED} == RELEASED
    assert found.keys() == RELEASED.keys()


def test_versions_are_consecutive_from_one() -> None:
    assert [migration.version for migration in migrations()] == list(range(1, SCHEMA_VERSION + 1))


def test_an_empty_folder_gets_every_migration_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "state.db"
    for _ in range(2):
        connection = open_state(path)
        assert ledger(connection) == list(RELEASED)
        connection.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_empty_database_is_not_set_up_yet_for_readers(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.touch()
    with pytest.raises(StorageError, match=r"not set up yet; `hostsight up` or `hostsight serve` does that"):
        open_state(path, read_only=True)
    open_state(path).close()
    open_state(path, read_only=True).close()


def test_many_first_starts_at_once_make_one_database(tmp_path: Path) -> None:
    path, seen = tmp_path / "state.db", list[list[str]]()

    def start() -> None:
        connection = open_state(path)
        seen.append(ledger(connection))
        connection.close()

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert seen == [list(RELEASED)] * 8


def test_foreign_keys_hold_and_rows_have_names(tmp_path: Path) -> None:
    connection = open_state(tmp_path / "state.db")
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        connection.execute("INSERT INTO episode_detectors VALUES (7, 'zscore', 0.1, 0.2)")
    assert connection.execute("PRAGMA journal_mode").fetchone()["journal_mode"] == "wal"
    connection.close()


def test_a_changed_migration_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    connection = open_state(path)
    connection.execute("UPDATE schema_migrations SET sha256 = 'x' WHERE version = 1")
    connection.close()
    with pytest.raises(CorruptError, match=r"state\.db: migration 0001_initial .*checksum differs"):
        open_state(path)


@pytest.mark.parametrize("read_only", [True, False])
def test_a_newer_database_is_refused_and_left_alone(tmp_path: Path, read_only: bool) -> None:
    path = tmp_path / "state.db"
    connection = open_state(path)
    connection.execute("INSERT INTO schema_migrations VALUES (9999, 'from_the_future', 'x', 0)")
    connection.close()
    with pytest.raises(StorageError, match=r"newer hostsight \(migration 9999_from_the_future\); upgrade"):
        open_state(path, read_only=read_only)


def test_an_older_database_is_brought_up_to_date_but_not_by_a_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state.db"
    open_state(path).close()
    later = Migration(SCHEMA_VERSION + 1, "later", "CREATE TABLE later (x INTEGER) STRICT;")
    monkeypatch.setattr("migrations.runner.migrations", lambda: [*migrations(), later])
    with pytest.raises(StorageError, match="older hostsight; start `hostsight serve` once"):
        open_state(path, read_only=True)
    connection = open_state(path)
    assert ledger(connection)[-1] == f"{SCHEMA_VERSION + 1:04d}_later"
    connection.close()


def test_a_failing_migration_leaves_nothing_half_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state.db"
    broken = Migration(
        SCHEMA_VERSION + 1, "broken", "CREATE TABLE half (x INTEGER) STRICT;\nSELECT no_such()"
    )
    with monkeypatch.context() as patch:
        patch.setattr("migrations.runner.migrations", lambda: [*migrations(), broken])
        with pytest.raises(StorageError, match=r"state\.db cannot be opened: no such function"):
            open_state(path)
    connection = open_state(path)
    assert connection.execute("SELECT name FROM sqlite_master WHERE name = 'half'").fetchone() is None
    connection.close()


@pytest.mark.parametrize("content", [b"not a database at all, but long enough" * 50, b"\0" * 4096])
def test_a_damaged_database_says_what_to_do(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(content)
    with pytest.raises(CorruptError, match="move it away and start again"):
        open_state(path)


def test_reading_where_nothing_was_written_says_how_to_start(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="holds no telemetry yet; start `hostsight up`"):
        open_state(tmp_path / "state.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    open_state(tmp_path / "state.db").close()
    connection = open_state(tmp_path / "state.db", read_only=True)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("DELETE FROM job_runs")
    connection.close()


def test_a_transaction_is_all_or_nothing(tmp_path: Path) -> None:
    connection = open_state(tmp_path / "state.db")
    insert = "INSERT INTO requests (job, host, asked_ns) VALUES ('refit', 'a', 1)"
    broken = [insert, "INSERT INTO no_such_table VALUES (1)"]
    with pytest.raises(sqlite3.OperationalError, match="no_such_table"), transaction(connection):
        list(map(connection.execute, broken))
    assert connection.execute("SELECT count(*) FROM requests").fetchone()[0] == 0
    with transaction(connection):
        connection.execute(insert)
    assert connection.execute("SELECT count(*) FROM requests").fetchone()[0] == 1
    connection.close()


def test_a_semicolon_inside_a_string_or_comment_ends_no_statement() -> None:
    script = "-- one; two\nINSERT INTO t VALUES ('a;b');\nSELECT 1"
    assert statements(script) == ["-- one; two\nINSERT INTO t VALUES ('a;b');\n", "SELECT 1"]
