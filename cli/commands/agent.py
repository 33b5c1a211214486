"""`hostsight agent`"""

from __future__ import annotations

import click

from cli.context import collection_settings, data_folder
from cli.options import Command, seconds, store_option
from cli.output import greet


@click.command(
    "agent",
    cls=Command,
    examples={
        "hostsight agent": "collect until stopped",
        "hostsight agent --root /host": "in a container that sees the host's / as /host",
        "hostsight agent --for 60s --tick 1s": "one minute at one sample a second",
        "hostsight agent --store influx": "send it on to the InfluxDB that [influx] names",
    },
)
@click.option("--for", "length", metavar="DURATION", callback=seconds, help="Stop by itself after so long.")
@click.option("--root", metavar="DIR", help="Prefix of /proc and /sys, instead of [agent] root.")
@click.option("--tick", metavar="DURATION", help="Time between two samples, instead of [agent] tick.")
@store_option
def command(length: float | None, root: str | None, tick: str | None, store: str | None) -> None:
    """Collect telemetry of this machine into the spool, and nothing else.

    It is what a service runs: it listens on nothing, needs no special rights, and leaves out (and `doctor` names) what
    its rights do not cover. Ctrl-C or SIGTERM end it after the last second is written.

    With `--store influx` it keeps a process beside it that sends the spool to InfluxDB; while that server is away,
    telemetry waits in the spool.
    """
    from ingest.agent import run_agent
    from ingest.recorder import say
    from jobs.beside import drain_beside

    data = data_folder()
    settings = collection_settings(data, root, {("agent", "tick"): tick, ("store", "kind"): store})
    data.create()
    greet(f"collecting into {data.root}; Ctrl-C ends it")
    with drain_beside(settings, data, say):
        run_agent(settings, data, seconds=length)
