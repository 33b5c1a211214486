"""The state database, opened for one command, and what it can complete on the command line."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cli.context import data_folder
from hostsight.errors import HostsightError, UnavailableError, UsageError, nearest
from migrations import open_state

if TYPE_CHECKING:
    import click

    from hostsight.folders import DataFolder


@contextmanager
def state(data: DataFolder, *, writing: bool = False) -> Iterator[sqlite3.Connection]:
    """Raises UnavailableError where there is none yet."""
    if not data.state_db.exists():
        raise UnavailableError(
            f"{data.root} holds no results yet; start `hostsight up` or `hostsight serve` there, or name another folder with --data"
        )
    connection = open_state(data.state_db, read_only=not writing)
    try:
        yield connection
    finally:
        connection.close()


def known_hosts(connection: sqlite3.Connection) -> list[str]:
    rows = connection.execute("SELECT host FROM watermarks UNION SELECT host FROM models ORDER BY host")
    return [row["host"] for row in rows]


def check_host(connection: sqlite3.Connection, host: str) -> None:
    """Raises UsageError for a host that nothing is known about."""
    known = known_hosts(connection)
    if host not in known:
        names = ", ".join(known) or "none yet"
        raise UsageError(f"nothing is known of host '{host}'{nearest(host, known)}; known hosts: {names}")


def complete(query: str, ctx: click.Context, incomplete: str) -> list[str]:
    """First column of `query` that starts with `incomplete`; nothing where there is no state database."""
    try:
        with ctx.scope(cleanup=False), state(data_folder()) as connection:
            found = [str(row[0]) for row in connection.execute(query)]
    except (HostsightError, sqlite3.Error):
        return []
    return [word for word in found if word.startswith(incomplete)]


def complete_episode(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return complete("SELECT id FROM episodes ORDER BY opened_ns DESC LIMIT 50", ctx, incomplete)


def complete_host(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return complete("SELECT DISTINCT host FROM watermarks ORDER BY host", ctx, incomplete)


def complete_model(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return complete("SELECT model FROM models ORDER BY created_ns DESC", ctx, incomplete)
