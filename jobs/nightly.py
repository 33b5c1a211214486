"""The nightly refit: asked for once a night and host, also when the pipeline was not running at its hour."""

from __future__ import annotations

import sqlite3

from hostsight.clock import Clock
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from jobs.requests import ask
from jobs.schedule import REFIT, schedules
from jobs.watermarks import advance, position
from migrations import open_state
from migrations.transaction import transaction


def ask_nightly(settings: Settings, data: DataFolder, clock: Clock) -> int:
    """Ask for a refit of every host whose live model is older than the last due hour, once for each such hour.

    Returns how many were asked for.
    """
    now_ns = clock.wall_ns()
    due_ns = schedules(settings.jobs)[REFIT].latest_due_ns(now_ns)
    connection = open_state(data.state_db)
    try:
        with transaction(connection):
            hosts = [
                host
                for host in _older_than(connection, due_ns)
                if position(connection, REFIT, host) != due_ns
            ]
            for host in hosts:
                advance(connection, REFIT, host, due_ns, now_ns)
                ask(connection, "nightly", host, now_ns)
        return len(hosts)
    finally:
        connection.close()


def _older_than(connection: sqlite3.Connection, due_ns: int) -> list[str]:
    rows = connection.execute("SELECT host FROM models WHERE state = 'live' AND created_ns < ?", (due_ns,))
    return [row["host"] for row in rows]
