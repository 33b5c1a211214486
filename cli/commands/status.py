"""`hostsight status`"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from cli.context import load_settings, telemetry_folder
from cli.options import Command, json_option

if TYPE_CHECKING:
    from jobs.drain_status import DrainStatus
    from jobs.status import Status


@click.command(
    "status",
    cls=Command,
    examples={
        "hostsight status": "",
        "hostsight status --json | jq '.hosts[].lag_seconds'": "how far the pipeline is behind",
    },
)
@json_option
def command(as_json: bool) -> None:
    """Show whether agent and jobs run, how far they have come, and what is wrong.

    `lag` is the age of the newest telemetry that has been turned into scores. Problems are listed last, each with what
    to do about it; the exit code is 0 as long as the state could be read.
    """
    from jobs.status import read_status

    data = telemetry_folder()
    status = read_status(data, load_settings(data), time.time_ns())
    if as_json:
        from cli.output import print_json

        print_json(status)
    else:
        _show(status)


def _show(status: Status) -> None:
    from cli.output import safe

    click.echo(f"hostsight {status.version} on {safe(status.data)} at {status.time}\n")
    for name, line in _lines(status):
        click.echo(f"{name:<9}{safe(line)}")
    _show_hosts(status)
    _show_jobs(status)
    _show_collectors(status)
    if status.problems:
        click.echo()
    for problem in status.problems:
        click.echo(f"problem: {safe(problem)}")


def _lines(status: Status) -> Iterator[tuple[str, str]]:
    """(what, how it is) of each process and of the store."""
    from cli.text import plural, size

    agent, pipeline, store = status.agent, status.pipeline, status.store
    if agent.running:
        yield "agent", f"running on {agent.host} since {agent.started}, process {agent.pid}"
        yield (
            "",
            (
                f"{plural(agent.channels, 'channel')} every {agent.tick_seconds * 1000:g} ms,"
                f" {agent.cpu_percent:.2g} % of a core, {size(agent.rss_bytes)}"
            ),
        )
        yield (
            "",
            (
                f"{plural(agent.ticks, 'tick')}, {agent.late_ticks:,} skipped, 99 % within"
                f" {agent.lateness_p99_ms:.2g} ms, {plural(agent.lost_values, 'value')} lost"
            ),
        )
    else:
        yield "agent", "not running"
    if pipeline.running and pipeline.started is None:
        yield "jobs", f"process {pipeline.pid or 'unknown'}, no report yet"
    elif pipeline.running:
        yield (
            "jobs",
            (
                f"running since {pipeline.started}, process {pipeline.pid}, {pipeline.cpu_percent:.2g} % of a core,"
                f" {size(pipeline.rss_bytes)}"
            ),
        )
    else:
        yield "jobs", "not running"
    dropped = f", {store.spool_dropped_segments:,} segments dropped" if store.spool_dropped_segments else ""
    yield (
        "store",
        (
            f"{store.kind}: spool {size(store.spool_bytes)}{dropped}, lake {size(store.lake_bytes)},"
            f" {size(store.free_bytes)} free"
        ),
    )
    if status.drain is not None:
        yield from _drain_lines(status.drain)
    yield "models", f"{status.models:,}"
    for one in status.alerts:
        refused = f", {one.refused:,} refused" if one.refused else ""
        yield "alerts", f"{one.receiver}: {one.sent:,} sent, {one.waiting:,} waiting{refused}"


def _drain_lines(drain: DrainStatus) -> Iterator[tuple[str, str]]:
    from cli.text import plural, size
    from hostsight.clock import iso
    from jobs.drain_status import sent_until

    how = f"process {drain.pid}, {size(drain.rss_bytes)}" if drain.running else "not running"
    yield "InfluxDB", f"{drain.url}, bucket {drain.bucket}; drain: {how}"
    if drain.outage is not None and not drain.outage.lasting:
        since, until = iso(drain.outage.since_ns), iso(drain.outage.until_ns)
        yield "", f"nothing could be sent from {since} to {until}: {drain.outage.error}"
    for host in drain.hosts:
        yield "", f"{host.host}: sent up to {sent_until(host)}, {plural(host.sent_values, 'value')}"
        if host.rejected_batches:
            yield (
                "",
                f"refused for good: {host.rejected_batches:,} of its batches, {plural(host.rejected_values, 'value')}",
            )


def _show_hosts(status: Status) -> None:
    from cli.output import print_table
    from cli.text import percent, rough_duration

    if not status.hosts:
        return
    click.echo()
    print_table(
        ("host", "phase", "lag", "windows", "open episodes", "activity"),
        (
            (
                host.host,
                f"learning {percent(host.progress)}" if host.phase == "learning" else host.phase,
                rough_duration(host.lag_seconds),
                f"{host.windows:,}",
                host.open_episodes,
                host.activity,
            )
            for host in status.hosts
        ),
        numbers=("windows", "open episodes"),
        prose=("activity",),
    )


def _show_jobs(status: Status) -> None:
    from cli.output import print_table
    from cli.text import distance, rough_duration

    click.echo()
    print_table(
        ("job", "state", "began", "took", "next", "error"),
        (
            (
                job.job,
                f"{job.state} (overdue)" if job.overrun else job.state,
                distance(status.time, job.last_started),
                rough_duration(job.duration_seconds),
                distance(status.time, job.next),
                job.error,
            )
            for job in status.jobs
        ),
        prose=("error",),
    )


def _show_collectors(status: Status) -> None:
    """Those that give nothing; `doctor` tells more."""
    from cli.output import print_table

    silent = [one for one in status.agent.collectors if one.state != "ok"]
    if silent:
        click.echo()
        print_table(
            ("collector", "state", "why"),
            ((one.name, one.state, one.error or one.reason) for one in silent),
            prose=("why",),
        )
