"""The record of what each job did: rows of `job_runs`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hostsight.clock import SECOND_NS, Clock
from hostsight.timerange import TimeRange
from jobs.schedule import REFIT
from jobs.sentences import sentence

LOST = "the process that ran it was killed; its work is done again from where it last committed"


STOPPED = "the pipeline was stopped; its work is done at the next start"


class Stopped(Exception):  # noqa: N818  # no error: the pipeline ends, and the job's work waits for its next start
    pass


LONGEST_REFIT_NS = 3600 * SECOND_NS
"""A refit that takes longer is stopped."""

NEVER_NS = 2**62


@dataclass(slots=True)
class Run:
    """A run under way: `items` is what it has done so far."""

    id: int
    items: int = 0


def mark_lost(connection: sqlite3.Connection, job: str | None = None, why: str = LOST) -> int:
    """Call at the start, under the pipeline's lock: what still says `running` was killed. Returns how many."""
    cursor = connection.execute(
        "UPDATE job_runs SET state = 'lost', error = ?1 WHERE state = 'running' AND (?2 IS NULL OR job = ?2)",
        (why, job),
    )
    return cursor.rowcount


def start_run(connection: sqlite3.Connection, job: str, now_ns: int) -> Run:
    cursor = connection.execute(
        "INSERT INTO job_runs (job, state, started_ns) VALUES (?, 'running', ?)", (job, now_ns)
    )
    return Run(cursor.lastrowid or 0)


def count_items(connection: sqlite3.Connection, run: Run) -> None:
    connection.execute("UPDATE job_runs SET items = ? WHERE id = ?", (run.items, run.id))


def finish_run(connection: sqlite3.Connection, run: Run, now_ns: int, error: str | None = None) -> None:
    """`ok`, or `failed` with the sentence in `error`."""
    connection.execute(
        "UPDATE job_runs SET state = ?, finished_ns = ?, items = ?, error = ? WHERE id = ?",
        ("failed" if error else "ok", now_ns, run.items, error, run.id),
    )


def prune_runs(connection: sqlite3.Connection, before_ns: int) -> int:
    cursor = connection.execute(
        "DELETE FROM job_runs WHERE started_ns < ? AND state <> 'running'", (before_ns,)
    )
    return cursor.rowcount


@contextmanager
def recorded(connection: sqlite3.Connection, job: str, clock: Clock) -> Iterator[Run]:
    """Record the body as one run of `job`; whatever it raises is recorded and raised on."""
    run = start_run(connection, job, clock.wall_ns())
    try:
        yield run
    except Stopped:
        mark_lost(connection, job, STOPPED)
        raise
    except BaseException as error:
        finish_run(connection, run, clock.wall_ns(), sentence(error))
        raise
    finish_run(connection, run, clock.wall_ns())


def refit_spans(connection: sqlite3.Connection, since_ns: int) -> list[TimeRange]:
    """When refits ran after `since_ns`; one that still runs has no end yet, one during which the clock was set back no length."""
    rows = connection.execute(
        "SELECT started_ns, max(started_ns, coalesce(finished_ns, ?1)) AS ended_ns FROM job_runs"
        " WHERE job = ?2 AND state <> 'lost' AND started_ns > ?3 AND coalesce(finished_ns, ?1) > ?4",
        (NEVER_NS, REFIT, since_ns - LONGEST_REFIT_NS, since_ns),
    )
    return [TimeRange(row["started_ns"], row["ended_ns"]) for row in rows]
