"""`hostsight bench`: each benchmark prints one JSON document."""

from __future__ import annotations

from pathlib import Path

import click

from cli.context import collection_settings, data_folder, load_settings
from cli.options import Group, seconds
from cli.output import narrate, print_json

_length_option = click.option(
    "--for",
    "length",
    default="60s",
    show_default=True,
    metavar="DURATION",
    callback=seconds,
    help="How long to measure.",
)


@click.group("bench", cls=Group)
def command() -> None:
    """Measure hostsight itself on this machine. Each benchmark prints one JSON document.

    Figures hold for the machine they were measured on, and for what else ran there at the time.
    """


@command.command(
    "collect",
    short_help="The agent's cost.",
    examples={
        "hostsight bench collect --for 5m > collect.json": "a longer look",
        "hostsight bench collect --peers": "beside collectd, node_exporter, pmlogger and netdata",
    },
)
@_length_option
@click.option(
    "--peers",
    is_flag=True,
    help="Run other collectors at the same time, in the foreground and on the loopback; says which are not installed.",
)
@click.option(
    "--adaptive",
    is_flag=True,
    help="Run a second agent with `[agent] adaptive`; begins half a minute later, when an idle host is known as idle.",
)
def collect(length: float, peers: bool, adaptive: bool) -> None:
    """Measure the agent's CPU, memory, lateness and bytes, beside a plain psutil loop that reads the same at the same rate."""
    from bench.collect import bench_collect

    narrate(f"measuring for {length:g} s and some seconds to settle")
    print_json(
        bench_collect(collection_settings(data_folder(), None), length, peers=peers, adaptive=adaptive)
    )


@command.command(
    "latency",
    short_help="From a window's end to its episode.",
    examples={"hostsight bench latency --for 5m": "more episodes, so a better 99th percentile"},
)
@_length_option
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

    narrate(f"measuring {channels} channels over {minutes} min at 100 ms")
    print_json(bench_features(load_settings(data_folder()), channels=channels, minutes=minutes))


@command.command(
    "influx",
    short_help="Into InfluxDB and out again.",
    examples={
        "hostsight bench influx": "against a server of its own, made by tests/influx/build",
        "hostsight bench influx --url http://localhost:8086": "against a running one, with the token of [influx]",
    },
)
@click.option(
    "--url",
    metavar="URL",
    help="A running InfluxDB, which gets three buckets (1.8: databases) for as long as it takes.",
)
@click.option(
    "--channels", type=click.IntRange(min=1), default=700, show_default=True, help="Of the synthetic host."
)
@click.option(
    "--seconds", type=click.IntRange(min=150), default=180, show_default=True, help="Of telemetry at 100 ms."
)
def influx(url: str | None, channels: int, seconds: int) -> None:
    """Measure values a second into InfluxDB and out again, beside a bare HTTP client and InfluxDB's own client.

    `query_data_frame` of that client needs pandas; without it that figure is left out, and the result says so.
    """
    from bench.influx import NO_PANDAS, bench_influx, with_pandas

    narrate(f"measuring {channels} channels over {seconds} s at 100 ms")
    if not with_pandas():
        narrate(NO_PANDAS)
    print_json(bench_influx(load_settings(data_folder()), channels=channels, seconds=seconds, url=url))


@command.command(
    "detect",
    cls=click.Command,  # its `--data` is the labelled machines
    short_help="How well labelled incidents are found.",
)
@click.option(
    "--data",
    "folder",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Labelled machines.",
)
def detect(folder: Path) -> None:
    """Learn from the training half of each labelled machine, judge its test half, and compare with what experts said.

    The folder holds <set>/<machine>/ with train.parquet, test.parquet and causes.json. Gives each detector's figures, those of what is fused, of chance, and of the papers' fusion; and what every machine
    would have had if it had been left out of the choice between them.
    """
    from bench.detect import bench_detect

    narrate("half a minute a machine, as many at once as there are CPUs")
    print_json(bench_detect(load_settings(data_folder()), folder))


@command.command("score", short_help="Time to judge one window.")
@click.option(
    "--channels", type=click.IntRange(min=1), default=700, show_default=True, help="Of the synthetic host."
)
def score(channels: int) -> None:
    """Measure how long one window takes with all detectors and attribution, after learning from ninety minutes."""
    from bench.score import bench_score

    narrate(f"learning from ninety minutes of {channels} channels first")
    print_json(bench_score(load_settings(data_folder()), channels=channels))
