"""How far each job has come with each host: everything before the position is done and committed."""

from __future__ import annotations

import sqlite3


def position(connection: sqlite3.Connection, job: str, host: str) -> int | None:
    row = connection.execute(
        "SELECT position_ns FROM watermarks WHERE job = ? AND host = ?", (job, host)
    ).fetchone()
    return int(row["position_ns"]) if row else None


def positions(connection: sqlite3.Connection, job: str) -> dict[str, int]:
    rows = connection.execute("SELECT host, position_ns FROM watermarks WHERE job = ?", (job,))
    return {row["host"]: int(row["position_ns"]) for row in rows}


def advance(connection: sqlite3.Connection, job: str, host: str, position_ns: int, now_ns: int) -> None:
    connection.execute(
        "INSERT INTO watermarks VALUES (?, ?, ?, ?) ON CONFLICT (job, host)"
        " DO UPDATE SET position_ns = excluded.position_ns, updated_ns = excluded.updated_ns",
        (job, host, position_ns, now_ns),
    )
