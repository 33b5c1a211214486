"""Where a job ends for the scheduler: its run is recorded, and whatever it raises is told and goes no further."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from hostsight import narration
from hostsight.clock import Clock
from hostsight.errors import HostsightError
from hostsight.folders import DataFolder
from jobs.runs import recorded
from jobs.sentences import sentence
from migrations import open_state

Body = Callable[[sqlite3.Connection], int]
"""A job's work; gives how many items it did."""


def run_job(data: DataFolder, clock: Clock, job: str, body: Body) -> None:
    """Run `body` as one recorded run of `job`, with a connection of its own to the state database."""
    try:
        connection = open_state(data.state_db)
        try:
            with recorded(connection, job, clock) as run:
                run.items = body(connection)
        finally:
            connection.close()
    except Exception as error:  # noqa: BLE001  # recorded above, where that could be done
        tell(error)


def tell(error: Exception) -> None:
    """One sentence on stderr; a traceback before it where the error is none that hostsight knows."""
    known = isinstance(error, (HostsightError, sqlite3.Error))
    narration.say("hostsight serve", sentence(error), None if known else error)
