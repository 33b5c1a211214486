"""`hostsight drain`"""

from __future__ import annotations

import click

from cli.context import data_folder, load_settings
from cli.options import Command, seconds
from cli.output import greet


@click.command(
    "drain",
    cls=Command,
    examples={"hostsight drain": "send the spool of this data folder until stopped"},
)
@click.option("--for", "length", metavar="DURATION", callback=seconds, help="Stop by itself after so long.")
def command(length: float | None) -> None:
    """Send what the agent collects to InfluxDB, in order and exactly once, for ever.

    `hostsight agent --store influx` runs it by itself; alone it is for an agent that was started without. While the
    server does not answer it waits and tries again; `hostsight status` says how far it is and what keeps it. A batch
    that the server will never take is set aside in spool/rejected.
    """
    from jobs.drain import run_drain

    data = data_folder()
    settings = load_settings(data, {("store", "kind"): "influx"})
    data.create()
    greet(f"sending the spool of {data.root} to {settings.influx.url}; Ctrl-C ends it")
    run_drain(settings, data, seconds=length)
