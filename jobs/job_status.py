"""What became of each job: its last run, its failures of the last day, and when it is due."""

from __future__ import annotations

import sqlite3
from typing import Literal

import msgspec

from hostsight.clock import SECOND_NS, iso
from hostsight.settings import Settings
from jobs.schedule import MATERIALISE, Schedule, schedules

JobState = Literal["never", "running", "ok", "failed", "lost"]
"""`lost`: the process that ran it was killed; its work is done again from the watermark."""

DAY_NS = 86_400 * SECOND_NS

_LAST = "SELECT state, started_ns, finished_ns, items FROM job_runs WHERE job = ? ORDER BY id DESC LIMIT 1"
_FAILURES = "SELECT count(*) FROM job_runs WHERE job = ? AND started_ns > ? AND state IN ('failed', 'lost')"
_ERROR = """
SELECT error FROM job_runs
WHERE job = ? AND started_ns > ? AND state IN ('failed', 'lost')
ORDER BY id DESC LIMIT 1
"""


class JobStatus(msgspec.Struct, frozen=True, kw_only=True):
    """`failures` counts failed and lost runs of the last 24 h, `error` is the newest of them.

    `overrun`: it still runs although it was due again. `materialise` runs for as long as the pipeline does: its one
    row grows, and `items` are windows. next: None where nothing runs that would start it.
    """

    job: str
    state: JobState
    overrun: bool = False
    last_started: str | None = None
    last_finished: str | None = None
    duration_seconds: float | None = None
    next: str | None = None
    items: int = 0
    failures: int = 0
    error: str | None = None


def read_jobs(
    connection: sqlite3.Connection | None, settings: Settings, now_ns: int, *, scheduled: bool
) -> tuple[JobStatus, ...]:
    """One a job, in the order of the schedule; `connection` is None where there is no state database yet.

    `scheduled`: the process runs that would start them.
    """
    table = schedules(settings.jobs)
    return tuple(_read_job(connection, schedule, now_ns, scheduled=scheduled) for schedule in table.values())


def _read_job(
    connection: sqlite3.Connection | None, schedule: Schedule, now_ns: int, *, scheduled: bool
) -> JobStatus:
    job, due = schedule.job, iso(schedule.next_due_ns(now_ns)) if scheduled else None
    row = connection.execute(_LAST, (job,)).fetchone() if connection else None
    if connection is None or row is None:
        return JobStatus(job=job, state="never", next=due)
    since = (job, now_ns - DAY_NS)
    error = connection.execute(_ERROR, since).fetchone()
    running = row["state"] == "running"
    end_ns = row["finished_ns"] or now_ns
    return JobStatus(
        job=job,
        state=row["state"],
        overrun=running and job != MATERIALISE and row["started_ns"] < schedule.latest_due_ns(now_ns),
        last_started=iso(row["started_ns"]),
        last_finished=iso(row["finished_ns"]),
        duration_seconds=max(0.0, (end_ns - row["started_ns"]) / SECOND_NS),
        next=due,
        items=row["items"],
        failures=connection.execute(_FAILURES, since).fetchone()[0],
        error=error[0] if error else None,
    )
