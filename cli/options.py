"""Options and values that several commands share."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from cli.context import keep_data
from hostsight.errors import UsageError

ROOM = 28
"""Columns that what an example is for needs beside it."""

F = TypeVar("F", bound=Callable[..., Any])


def data_option() -> click.Option:
    """`--data`, taken before or after the command's name."""
    return click.Option(
        ["--data"],
        metavar="DIR",
        expose_value=False,
        callback=keep_data,
        type=click.Path(readable=False),
        help="Data folder; otherwise $HOSTSIGHT_DATA, otherwise /var/lib/hostsight for root and the user's own "
        "data folder for others.",
    )


class Command(click.Command):
    """A command that takes `--data` and shows its examples below its options."""

    def __init__(self, *args: Any, examples: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(data_option())
        self.examples = examples or {}

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples"):
                write_examples(formatter, self.examples)


def write_examples(formatter: click.HelpFormatter, examples: Mapping[str, str]) -> None:
    """Command and what it is for: side by side where there is room for that, otherwise one below the other."""
    longest = max(map(len, examples))
    if formatter.width - formatter.current_indent - longest >= ROOM or not any(examples.values()):
        formatter.write_dl(list(examples.items()), col_max=longest)
        return
    for line, meaning in examples.items():
        formatter.write(f"{'':{formatter.current_indent}}{line}\n")
        with formatter.indentation():
            if meaning:
                formatter.write_text(meaning)


class Group(click.Group):
    """A group of commands under one word, such as `models list`."""

    command_class = Command


class _Number(click.IntRange):
    name = "number"


NUMBER = _Number(min=1, max=2**63 - 1)
"""Of an episode or a rule: what the state database can hold."""


def json_option(function: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")(function)


def store_option(function: F) -> F:
    return click.option(
        "--store",
        type=click.Choice(["embedded", "influx"]),
        help="Where telemetry is kept, instead of [store] kind: in the data folder, or in InfluxDB.",
    )(function)


def seconds(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Callback of an option that takes a duration (`90s`, `5m`): seconds, more than none."""
    from hostsight.clock import SECOND_NS
    from hostsight.timerange import parse_duration_ns

    if value is None:
        return None
    try:
        length_ns = parse_duration_ns(value)
    except UsageError as error:
        raise click.BadParameter(str(error), ctx, param) from error
    if length_ns <= 0:
        raise click.BadParameter(f"'{value}' is no time at all; write 90s or 5m", ctx, param)
    return length_ns / SECOND_NS


def time_range(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, int]:
    """Callback of an option that takes `1h` or `now-6h..now-1h`: (start, end) in nanoseconds."""
    from hostsight.timerange import parse_range

    try:
        span = parse_range(value, time.time_ns())
    except UsageError as error:
        raise click.BadParameter(str(error), ctx, param) from error
    return span.start_ns, span.end_ns
