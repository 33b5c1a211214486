"""`hostsight bench`: each benchmark prints one JSON document."""

from __future__ import annotations

import click

from cli.context import collection_settings, data_folder, load_settings
from cli.options import Group, seconds
from cli.output import narrate, print_json


@click.group("bench", cls=Group)
def command() -> None:
    """Measure hostsight itself on this machine. Each benchmark prints one JSON document.

    Figures hold for the machine they were measured on, and for what else ran there at the time.
    """


@command.command(
    "collect",
    short_help="The agent's cost.",
    examples={"hostsight bench collect --for 5m > collect.json": "a longer look"},
)
@click.option(
    "--for",
    "length",
    default="60s",
    show_default=True,
    metavar="DURATION",
    callback=seconds,
    help="How long to measure.",
)
def collect(length: float) -> None:
    """Measure the agent's CPU, memory, lateness and bytes, beside a plain psutil loop that reads the same at the same rate."""
    from bench.collect import bench_collect

    narrate(f"measuring for {length:g} s and some seconds to settle")
    print_json(bench_collect(collection_settings(data_folder(), None), length))


@command.command(
    "latency",
    short_help="From a window's end to its episode.",
    examples={"hostsight bench latency --for 5m": "more episodes, so a better 99th percentile"},
)
@click.option(
    "--for",
    "length",
    default="60s",
    show_default=True,
    metavar="DURATION",
    callback=seconds,
    help="How long to measure.",
)
def latency(length: float) -> None:
    """Measure the time from a window's end to its scores, and to the episode it opens, with 300 synthetic channels."""
    from bench.latency import bench_latency

    narrate(f"measuring for {length:g} s, after a first baseline from synthetic history")
    print_json(bench_latency(load_settings(data_folder()), length))


@command.command(
    "features",
    short_help="Samples a second through SQL.",
    examples={"hostsight bench features --channels 1000": "a larger server"},
)
@click.option(
    "--channels", type=click.IntRange(min=1), default=700, show_default=True, help="Of the synthetic host."
)
@click.option(
    "--minutes", type=click.IntRange(min=1), default=10, show_default=True, help="Of telemetry at 100 ms."
)
def features(channels: int, minutes: int) -> None:
    """Measure how fast samples become features: in bulk over a synthetic lake, and second by second as in live work."""
    from bench.features import bench_features

    narrate(f"measuring {channels} channels over {minutes} minutes at 100 ms")
    print_json(bench_features(load_settings(data_folder()), channels=channels, minutes=minutes))
