"""What a person should know about this data folder, as plain sentences: what, where, remedy."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hostsight.clock import SECOND_NS
from hostsight.folders import DataFolder
from hostsight.timerange import format_duration
from ingest.heartbeat import alive
from jobs.build import installed_build
from jobs.job_status import JobStatus
from jobs.processes import Processes
from jobs.progress import HostProgress
from jobs.store_status import StoreStatus

LOW_BYTES = 64 * 2**20
"""Below this much room, writing is about to fail."""

_NEVER = {"agent": "no agent has run", "serve": "no jobs have run"}

BEHIND_SECONDS = 30.0
AHEAD_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What was found on the data folder."""

    data: DataFolder
    processes: Processes
    store: StoreStatus
    jobs: Sequence[JobStatus]
    state_error: str | None


def find_problems(facts: Facts) -> tuple[str, ...]:
    return (
        *_folder(facts.data, facts.store),
        *(() if _only_serves(facts) else _agent(facts.processes)),
        *(() if _only_sends(facts) else _pipeline(facts.processes)),
        *_jobs(facts.jobs, facts.processes),
        *((facts.state_error,) if facts.state_error and not _jobs_start(facts.processes) else ()),
    )


def _jobs_start(processes: Processes) -> bool:
    """They hold their lock and have reported nothing yet: they set the state database up first."""
    return processes.serve is not None and processes.progress is None


def _only_serves(facts: Facts) -> bool:
    """Jobs over InfluxDB: the agents, or telegraf, are on other hosts."""
    return facts.processes.beat is None and facts.store.kind in {"influx", "telegraf"}


def _only_sends(facts: Facts) -> bool:
    """An agent that sends to InfluxDB: the jobs are on another host."""
    return facts.processes.progress is None and facts.store.kind == "influx"


def _folder(data: DataFolder, store: StoreStatus) -> Iterator[str]:
    if not data.root.is_dir():
        yield f"{data.root} does not exist; start `hostsight up`, or name another folder with --data"
        return
    if not os.access(data.root, os.W_OK):
        yield f"{data.root} may not be written; telemetry is not kept: mend its rights, or choose another folder with --data"
    if store.free_bytes is not None and store.free_bytes < LOW_BYTES:
        megabytes = store.free_bytes / 2**20
        yield f"{data.root} has {megabytes:.0f} MiB left; free some, or lower [spool] max_bytes or [retention]"

    if store.damaged_files:
        yield f"{store.damaged_files} damaged files were set aside as *.bad in {data.lake}; what they held is left out, and they can be deleted"


def _agent(processes: Processes) -> Iterator[str]:
    beat = processes.beat
    if beat is None or not alive(beat, processes.now_ns):
        age_ns = None if beat is None else processes.now_ns - beat.updated_ns
        yield (
            _not_running("the agent is", "agent", age_ns, processes.up)
            if processes.agent is None
            else _silent("the agent", "agent", processes.agent, age_ns, processes.up)
        )
    if beat is None:
        return
    if beat.storage_error:
        yield f"the agent keeps no telemetry now: {beat.storage_error}"
    if beat.spool_dropped_segments:
        yield f"{beat.spool_dropped_segments} spool segments were dropped unread to stay within [spool] max_bytes; raise it, or keep the jobs running"
    for collector in beat.collectors:
        if collector.state == "failed":
            yield f"collector {collector.name} fails: {collector.error}; `hostsight doctor` says more"


def _pipeline(processes: Processes) -> Iterator[str]:
    progress, now_ns = processes.progress, processes.now_ns
    if progress is None or not progress.running(now_ns):
        age_ns = None if progress is None else now_ns - progress.updated_ns
        yield (
            _not_running("the jobs are", "serve", age_ns, processes.up)
            if processes.serve is None or (processes.up is not None and age_ns is None)
            else _silent("the jobs", "serve", processes.serve, age_ns, processes.up)
        )
        return
    if progress.build and progress.build != installed_build():
        command = "serve" if processes.up is None else "up"
        yield f"the jobs run an earlier hostsight ({progress.build}) than is installed ({installed_build()}), so a refit may learn what they cannot use; restart `hostsight {command}`"
    if progress.error:
        yield f"the jobs do not get on: {progress.error}"
    yield from progress.problems
    for host in progress.hosts:
        yield from _behind(host, now_ns)


def _behind(host: HostProgress, now_ns: int) -> Iterator[str]:
    if host.available_ns is None or host.position_ns is None:
        return
    behind = (host.available_ns - host.position_ns) / SECOND_NS
    if behind > BEHIND_SECONDS:
        yield f"{host.host}: windows are {format_duration(round(behind))} behind the telemetry; they are being caught up with"
    ahead = (host.position_ns - now_ns) / SECOND_NS
    if ahead > AHEAD_SECONDS:
        yield f"{host.host}: telemetry is stamped {format_duration(round(ahead))} ahead of this clock, which was set back; detection goes on, and stamps return to the clock little by little"


def _silent(who: str, command: str, pid: int, age_ns: int | None, up: int | None) -> str:
    """A process that holds its lock: it lives."""
    number = f" (process {pid})" if pid else ""
    how = "reported nothing yet: starting" if age_ns is None else f"last reported {_ago(age_ns)}: stuck"
    imports = ", or an import, which reports nothing" if command == "serve" and up is None else ""
    restarted = "up" if up is not None else command
    return f"{who}{number} {how}, or unable to write{imports}; make room or mend the rights, or restart `hostsight {restarted}`"


def _not_running(who: str, command: str, age_ns: int | None, up: int | None) -> str:
    if up is not None:
        return f"{who} being started by `hostsight up`; where that takes long, logs/{command}.log says why"
    if age_ns is None:
        return f"{_NEVER[command]} on this data folder; start `hostsight {command}` or `hostsight up`"
    return f"{who} not running: last heard {_ago(age_ns)}; start `hostsight {command}` or `hostsight up`"


def _jobs(jobs: Sequence[JobStatus], processes: Processes) -> Iterator[str]:
    """Without what the pipeline's own report says already."""
    progress = processes.progress
    told = progress.error if progress is not None and progress.running(processes.now_ns) else None
    for job in jobs:
        if job.overrun:
            yield f"job {job.job} overruns: it has run since {job.last_started} and was due again"
        if job.state in {"failed", "lost"} and (job.error is None or job.error != told):
            yield f"job {job.job} {job.state} at {job.last_finished or job.last_started}: {job.error or 'no reason is known'}"


def _ago(ns: int) -> str:
    return f"{format_duration(max(0, round(ns / SECOND_NS)))} ago"
