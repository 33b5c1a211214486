"""`hostsight agent`"""

from __future__ import annotations

import click

from cli.context import collection_settings, data_folder
from cli.options import Command, seconds
from cli.output import greet


@click.command(
    "agent",
    cls=Command,
    examples={
        "hostsight agent": "collect until stopped",
        "hostsight agent --root /host": "in a container that sees the host's / as /host",
        "hostsight agent --for 60s --tick 1s": "one minute at one sample a second",
    },
)
@click.option("--for", "length", metavar="DURATION", callback=seconds, help="Stop by itself after so long.")
@click.option("--root", metavar="DIR", help="Prefix of /proc and /sys, instead of [agent] root.")
@click.option("--tick", metavar="DURATION", help="Time between two samples, instead of [agent] tick.")
def command(length: float | None, root: str | None, tick: str | None) -> None:
    """Collect telemetry of this machine into the spool, and nothing else.

    It is what a service runs: it listens on nothing, needs no special rights, and leaves out (and `doctor` names) what
    its rights do not cover. Ctrl-C or SIGTERM end it after the last second is written.
    """
    from ingest.agent import run_agent

    data = data_folder()
    settings = collection_settings(data, root, {("agent", "tick"): tick})
    data.create()
    greet(f"collecting into {data.root}; Ctrl-C ends it")
    run_agent(settings, data, seconds=length)
