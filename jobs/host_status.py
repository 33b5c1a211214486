"""What the pipeline knows of each host: its phase, how far it has come, what it is doing."""

from __future__ import annotations

import sqlite3
from typing import Literal

import msgspec

from hostsight.clock import SECOND_NS, iso
from jobs.processes import Processes
from jobs.progress import HostProgress
from jobs.schedule import MATERIALISE

Phase = Literal["learning", "live", "no data"]

SILENT_SECONDS = 60.0
"""A host whose newest telemetry is older than this has stopped sending."""


_RECORDED = """
SELECT watermarks.host, position_ns, models.model,
  (SELECT count(*) FROM episodes WHERE episodes.host = watermarks.host AND state = 'open'
    AND rule_id IS NULL AND false_alarm_id IS NULL) AS open_episodes
FROM watermarks LEFT JOIN models ON models.host = watermarks.host AND models.state = 'live'
WHERE job = ?
"""


class HostStatus(msgspec.Struct, frozen=True, kw_only=True):
    """`progress` (0 to 1) is that of the warm-up while learning, and 1 afterwards.

    windows: how many the running pipeline has done.
    newest_ns: end of the newest telemetry.  processed_to: end of the newest window that is done.  lag_seconds: how far
    that is behind the clock.
    """

    host: str
    phase: Phase
    progress: float
    activity: str
    windows: int
    newest_ns: int | None
    processed_to: str | None
    lag_seconds: float | None
    model: str | None
    open_episodes: int


def read_hosts(connection: sqlite3.Connection, processes: Processes, now_ns: int) -> tuple[HostStatus, ...]:
    """One a host, by name. `connection` has `sqlite3.Row` rows."""
    progress = processes.progress
    recorded = {row["host"]: row for row in connection.execute(_RECORDED, (MATERIALISE,))}
    reported = {one.host: one for one in progress.hosts} if progress else {}
    return tuple(
        _host(reported.get(host, HostProgress(host=host)), recorded.get(host), now_ns, processes)
        for host in sorted(recorded.keys() | reported.keys())
    )


def _host(
    reported: HostProgress, recorded: sqlite3.Row | None, now_ns: int, processes: Processes
) -> HostStatus:
    position_ns: int | None = recorded["position_ns"] if recorded else None
    model: str | None = recorded["model"] if recorded else None
    newest_ns = max(position_ns or 0, reported.available_ns or 0) or None
    gone = processes.agent_gone(reported.host)
    live = reported.live if processes.jobs_report and reported.live is not None else model is not None
    phase: Phase = "no data" if gone or _is_silent(newest_ns, now_ns) else "live" if live else "learning"
    return HostStatus(
        host=reported.host,
        phase=phase,
        progress=1.0 if live else reported.progress,
        activity=_activity(reported, phase, processes),
        windows=reported.windows,
        newest_ns=newest_ns,
        processed_to=iso(position_ns),
        lag_seconds=None if position_ns is None else max(0.0, (now_ns - position_ns) / SECOND_NS),
        model=model,
        open_episodes=recorded["open_episodes"] if recorded else 0,
    )


def _is_silent(newest_ns: int | None, now_ns: int) -> bool:
    return newest_ns is None or now_ns - newest_ns > SILENT_SECONDS * SECOND_NS


def _activity(reported: HostProgress, phase: Phase, processes: Processes) -> str:
    if not processes.jobs_run:
        if processes.up is not None:
            return "starting"
        return "not running: start `hostsight serve` or `hostsight up`"
    if not processes.jobs_report:
        return "no report from the jobs: starting, stuck, or unable to write"
    if processes.agent_gone(reported.host):
        return "waiting for telemetry: the agent is not running"
    if phase == "no data":
        return "waiting for telemetry: none for over a minute"
    return reported.activity or "starting"
