"""`hostsight serve`"""

from __future__ import annotations

import click

from cli.context import data_folder, load_settings
from cli.options import Command, seconds
from cli.output import greet


@click.command(
    "serve",
    cls=Command,
    examples={
        "hostsight serve": "run the jobs until stopped",
        "hostsight serve --warmup 60s": "learn the first baseline from one minute",
        "hostsight serve --store influx": "for every host whose agent sends to that InfluxDB",
        "hostsight serve --store telegraf": "for every host whose telegraf writes to it",
    },
)
@click.option("--for", "length", metavar="DURATION", callback=seconds, help="Stop by itself after so long.")
@click.option(
    "--warmup", metavar="DURATION", help="Telemetry the first baseline needs, instead of [detect] warmup."
)
@click.option(
    "--store",
    type=click.Choice(["embedded", "influx", "telegraf"]),
    help="Where telemetry is kept, instead of [store] kind: in the data folder, or in InfluxDB by hostsight or by telegraf.",
)
def command(length: float | None, warmup: str | None, store: str | None) -> None:
    """Run the scheduled jobs: features, scores and episodes each second; compaction, retention and refits.

    One `serve` runs on a data folder at a time. A job that was killed or skipped carries on where it stopped, so
    nothing is lost and nothing is done twice.
    """
    from jobs.allocator import choose_allocator

    choose_allocator()
    from jobs.serve import run_serve

    data = data_folder()
    settings = load_settings(data, {("detect", "warmup"): warmup, ("store", "kind"): store})
    data.create()
    greet(f"running the jobs of {data.root}; Ctrl-C ends them")
    run_serve(settings, data, seconds=length)
