"""The jobs that keep the lake small and quick: compaction and retention."""

from __future__ import annotations

import sqlite3

from hostsight.clock import SECOND_NS, Clock
from hostsight.folders import DataFolder
from hostsight.settings import RetentionSettings
from ingest.compaction import compact
from ingest.lake import Lake
from ingest.retention import retain
from jobs.allocator import give_back
from jobs.boundary import run_job
from jobs.runs import prune_runs
from jobs.schedule import COMPACT, RETAIN

RUNS_KEPT_NS = 7 * 86_400 * SECOND_NS
"""Age at which the record of a run is deleted."""


def compact_lake(data: DataFolder, clock: Clock) -> None:
    """Items are files merged."""
    run_job(data, clock, COMPACT, lambda _: compact(Lake(data), clock.wall_ns()).merged)
    give_back()


def retain_lake(settings: RetentionSettings, data: DataFolder, clock: Clock) -> None:
    """Items are what was deleted: files, episodes, channels without telemetry and records of runs."""

    def body(connection: sqlite3.Connection) -> int:
        report = retain(Lake(data), settings, clock.wall_ns())
        return (
            report.deleted
            + prune_episodes(connection, report.now_ns - settings.scores.ns)
            + prune_channels(connection, report.now_ns - _longest_ns(settings))
            + prune_runs(connection, report.now_ns - RUNS_KEPT_NS)
        )

    run_job(data, clock, RETAIN, body)
    give_back()


def prune_episodes(connection: sqlite3.Connection, before_ns: int) -> int:
    """Delete closed episodes that were last seen before `before_ns`, with their attributions."""
    cursor = connection.execute(
        "DELETE FROM episodes WHERE state = 'closed' AND last_seen_ns < ?", (before_ns,)
    )
    return cursor.rowcount


def prune_channels(connection: sqlite3.Connection, before_ns: int) -> int:
    """Delete channels last seen before `before_ns`: containers and their interfaces come and go for ever."""
    return connection.execute("DELETE FROM channels WHERE last_seen_ns < ?", (before_ns,)).rowcount


def _longest_ns(settings: RetentionSettings) -> int:
    """How long anything of a channel is kept."""
    return max(settings.samples.ns, settings.features.ns, settings.scores.ns)
