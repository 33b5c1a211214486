"""`hostsight bench`: each benchmark prints one JSON document."""

from __future__ import annotations

import click

from cli.context import collection_settings, data_folder
from cli.options import Group, seconds
from cli.output import narrate, print_json


@click.group("bench", cls=Group)
def command() -> None:
    """Measure hostsight itself on this machine. Each benchmark prints one JSON document.

    Figures hold for the machine they were measured on, and for what else ran there at the time.
    """


@command.command("collect", examples={"hostsight bench collect --for 5m > collect.json": "a longer look"})
@click.option("--for", "length", default="60s", show_default=True, metavar="DURATION", callback=seconds)
def collect(length: float) -> None:
    """Measure the agent's CPU, memory, lateness and bytes, beside a plain psutil loop that reads the same at the same rate."""
    from bench.collect import bench_collect

    narrate(f"measuring for {length:g} s and some seconds to settle")
    print_json(bench_collect(collection_settings(data_folder(), None), length))
