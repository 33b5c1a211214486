"""What the refit job is asked to do: rows of `requests`, deleted once done."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Literal, get_args

Why = Literal["refit", "warm-up", "unusable", "growth", "nightly", "new-regime"]
"""`refit`: a person asked; `warm-up`: the first baseline; `unusable`: the live model cannot be used, of another hostsight say; `growth`: the history has doubled; `nightly`: by schedule;
`new-regime`: an episode has lasted so long that it is how the host behaves now."""

WHYS: tuple[Why, ...] = get_args(Why)


@dataclass(frozen=True, slots=True)
class Request:
    id: int
    why: Why
    host: str


def ask(connection: sqlite3.Connection, why: Why, host: str, now_ns: int) -> None:
    """Ask once: the same wish that still waits is not repeated."""
    connection.execute(
        "INSERT INTO requests (job, host, asked_ns) SELECT ?1, ?2, ?3"
        " WHERE NOT EXISTS (SELECT 1 FROM requests WHERE job = ?1 AND host = ?2)",
        (why, host, now_ns),
    )


def oldest(connection: sqlite3.Connection) -> Request | None:
    row = connection.execute(
        f"SELECT id, job, host FROM requests WHERE job IN ({','.join('?' * len(WHYS))}) ORDER BY id LIMIT 1",  # noqa: S608  # question marks alone
        WHYS,
    ).fetchone()
    return Request(row["id"], row["job"], row["host"]) if row else None


def done(connection: sqlite3.Connection, request: Request) -> None:
    connection.execute("DELETE FROM requests WHERE id = ?", (request.id,))
