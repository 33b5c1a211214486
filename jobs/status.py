"""The state of one data folder, as `hostsight status` and the console show it.

Times are ISO 8601 in UTC; nothing is raised for what is found on disk: `problems` says so.
"""

from __future__ import annotations

import sqlite3

import msgspec

from hostsight import __version__
from hostsight.clock import iso
from hostsight.errors import HostsightError
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from ingest.heartbeat import CollectorBeat, Heartbeat, alive
from jobs.alert_status import AlertStatus, alert_problems, read_alerts
from jobs.drain_status import DrainStatus, drain_problems, read_drain
from jobs.host_status import HostStatus, read_hosts
from jobs.job_status import JobStatus, read_jobs
from jobs.problems import Facts, find_problems
from jobs.processes import Processes, read_processes
from jobs.store_status import StoreStatus, read_store
from migrations import open_state
from models.episode_store import Episode, list_episodes


class AgentStatus(msgspec.Struct, frozen=True, kw_only=True):
    """`age_seconds` is the time since the agent last reported; None where no agent ever ran here."""

    running: bool = False
    host: str = ""
    pid: int | None = None
    started: str | None = None
    age_seconds: float | None = None
    tick_seconds: float = 0.0
    ticks: int = 0
    late_ticks: int = 0
    lateness_p99_ms: float = 0.0
    lost_values: int = 0
    channels: int = 0
    cpu_percent: float = 0.0
    rss_bytes: int = 0
    storage_error: str | None = None
    collectors: tuple[CollectorBeat, ...] = ()


class PipelineStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The process that runs the jobs (`hostsight serve`). `started` and what follows: as it last reported, if it has."""

    running: bool = False
    pid: int | None = None
    started: str | None = None
    age_seconds: float | None = None
    cpu_percent: float = 0.0
    rss_bytes: int = 0


class Status(msgspec.Struct, frozen=True, kw_only=True):
    version: str
    data: str
    time: str
    agent: AgentStatus
    pipeline: PipelineStatus
    store: StoreStatus
    drain: DrainStatus | None = None
    hosts: tuple[HostStatus, ...]
    jobs: tuple[JobStatus, ...]
    models: int
    alerts: tuple[AlertStatus, ...] = ()
    problems: tuple[str, ...]

    def to_json(self) -> bytes:
        return msgspec.json.encode(self)


class _State(msgspec.Struct, frozen=True, kw_only=True):
    """What the state database holds of all this."""

    hosts: tuple[HostStatus, ...] = ()
    jobs: tuple[JobStatus, ...] = ()
    models: int = 0
    alerts: tuple[AlertStatus, ...] = ()
    episodes: tuple[Episode, ...] = ()
    error: str | None = None


def read_status(data: DataFolder, settings: Settings, now_ns: int) -> Status:
    return look(data, settings, now_ns)[0]


def look(
    data: DataFolder, settings: Settings, now_ns: int, since_ns: int | None = None
) -> tuple[Status, tuple[Episode, ...]]:
    """The state now, and the episodes seen since `since_ns`, newest first; without `since_ns`, none."""
    processes = read_processes(data, now_ns)
    drain = read_drain(data, now_ns)
    store = read_store(data, processes.beat, processes.progress, drained=drain is not None)
    state = _read_state(data, settings, processes, now_ns, since_ns)
    facts = Facts(
        data=data,
        processes=processes,
        store=store,
        jobs=state.jobs,
        state_error=state.error,
    )
    status = Status(
        version=__version__,
        data=str(data.root),
        time=iso(now_ns) or "",
        agent=_agent(processes.beat, now_ns),
        pipeline=_pipeline(processes, now_ns),
        store=store,
        drain=drain,
        hosts=state.hosts,
        jobs=state.jobs,
        models=state.models,
        alerts=state.alerts,
        problems=(*find_problems(facts), *drain_problems(data, drain), *alert_problems(state.alerts)),
    )
    return status, state.episodes


def _agent(beat: Heartbeat | None, now_ns: int) -> AgentStatus:
    if beat is None:
        return AgentStatus()
    return AgentStatus(
        running=alive(beat, now_ns),
        host=beat.host,
        pid=beat.pid,
        started=iso(beat.started_ns),
        age_seconds=max(0.0, (now_ns - beat.updated_ns) / 1e9),
        tick_seconds=beat.tick_seconds,
        ticks=beat.ticks,
        late_ticks=beat.late_ticks,
        lateness_p99_ms=beat.lateness_p99_ms,
        lost_values=beat.lost_values,
        channels=beat.channels,
        cpu_percent=beat.cpu_percent,
        rss_bytes=beat.rss_bytes,
        storage_error=beat.storage_error,
        collectors=tuple(beat.collectors),
    )


def _pipeline(processes: Processes, now_ns: int) -> PipelineStatus:
    progress, holder = processes.progress, processes.serve
    if progress is None or (holder and holder != progress.pid):
        return PipelineStatus(running=processes.jobs_run, pid=holder or None)
    return PipelineStatus(
        running=processes.jobs_run,
        pid=progress.pid,
        started=iso(progress.started_ns),
        age_seconds=progress.age_seconds(now_ns),
        cpu_percent=progress.cpu_percent,
        rss_bytes=progress.rss_bytes,
    )


def _read_state(
    data: DataFolder, settings: Settings, processes: Processes, now_ns: int, since_ns: int | None
) -> _State:
    scheduled = processes.jobs_run
    if not data.state_db.exists():
        return _State(jobs=read_jobs(None, settings, now_ns, scheduled=scheduled))
    try:
        connection = open_state(data.state_db, read_only=True)
        try:
            return _State(
                hosts=read_hosts(connection, processes, now_ns),
                jobs=read_jobs(connection, settings, now_ns, scheduled=scheduled),
                models=connection.execute("SELECT count(*) FROM models").fetchone()[0],
                alerts=read_alerts(connection, settings.alerts),
                episodes=() if since_ns is None else tuple(list_episodes(connection, since_ns=since_ns)),
            )
        finally:
            connection.close()
    except (HostsightError, sqlite3.Error) as error:
        return _State(jobs=read_jobs(None, settings, now_ns, scheduled=scheduled), error=str(error))
