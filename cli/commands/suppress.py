"""`hostsight suppress add, list, end`"""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from cli.context import data_folder, load_settings
from cli.options import NUMBER, Group, json_option, seconds
from cli.state import complete, complete_host, state
from hostsight.channel import SUBSYSTEMS
from hostsight.clock import SECOND_NS
from hostsight.errors import UsageError, nearest

if TYPE_CHECKING:
    from models.muting import Suppression


@click.group("suppress", cls=Group)
def command() -> None:
    """Keep episodes quiet: of a host, a subsystem, a device, a metric, for a time.

    What a rule matches is recorded as ever, and `anomalies --muted` shows it; nobody is alerted, and it is not counted as
    open. An episode is matched by its main channel, so one that turns into something else is loud again.
    """


def _complete_rule(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return complete("SELECT id FROM suppressions ORDER BY id DESC", ctx, incomplete)


@command.command(
    "add",
    short_help="Add a rule.",
    examples={
        "hostsight suppress add --host gpu01 --for 2h --reason maintenance": "all of a host",
        "hostsight suppress add --subsystem storage --device 'sd?'": "some disks, until it is ended",
        "hostsight suppress add --metric 'power_*' --during 2026-02-01T22:00:00Z..2026-02-02T04:00:00Z": "a span to come",
    },
)
@click.option("--host", metavar="H", default="*", shell_complete=complete_host, help="Pattern (*, ?); any by default.")  # fmt: skip
@click.option("--subsystem", metavar="S", default="*", help="Pattern, such as storage.")
@click.option("--device", metavar="D", default="*", help="Pattern, such as nvme0n1.")
@click.option("--metric", metavar="M", default="*", help="Pattern, such as busy_percent.")
@click.option("--for", "length", metavar="DURATION", callback=seconds, help="From now, so long: 90m, 2h, 3d.")
@click.option("--during", metavar="FROM..TO", help="A time span in UTC, instead of --for.")
@click.option("--reason", default="", metavar="TEXT", help="Why; shown in the list.")
def add(length: float | None, during: str | None, reason: str, **patterns: str) -> None:
    """Add a rule: all that is given must match. Without --for or --during it holds until `suppress end`."""
    import msgspec

    from cli.output import narrate
    from jobs.operations import suppress
    from models.muting import Suppression

    now_ns = time.time_ns()
    _check_subsystem(patterns["subsystem"])
    start_ns, end_ns = _when(length, during, now_ns)
    if end_ns is None and set(patterns.values()) == {"*"}:
        raise UsageError(
            "that would keep everything quiet for ever; name a host, a channel, or a time with --for"
        )
    rule = msgspec.convert(
        {"from_ns": start_ns, "until_ns": end_ns, "reason": reason, **patterns}, Suppression
    )
    data = data_folder()
    settings = load_settings(data)
    with state(data, writing=True) as connection:
        rule_id = suppress(connection, settings.alerts, rule, now_ns)
    after = (
        "its time is over, so it mutes only what is judged belatedly"
        if end_ns is not None and end_ns <= now_ns
        else f"`hostsight suppress end {rule_id}` ends it"
    )
    narrate(f"suppression {rule_id} is added; {after}")


def _check_subsystem(pattern: str) -> None:
    """Raises UsageError for a pattern that no subsystem matches: such a rule would keep nothing quiet."""
    if not fnmatch.filter(SUBSYSTEMS, pattern):
        raise UsageError(
            f"no subsystem is '{pattern}'{nearest(pattern, SUBSYSTEMS)}; there are {', '.join(SUBSYSTEMS)}"
        )


def _when(length: float | None, during: str | None, now_ns: int) -> tuple[int, int | None]:
    """(from, until); raises UsageError for a span that is none, or given twice."""
    from hostsight.timerange import parse_range

    if during is None:
        return now_ns, None if length is None else now_ns + round(length * SECOND_NS)
    if length is not None:
        raise UsageError("--for and --during both say when; give one of them")
    if ".." not in during:
        raise UsageError(f"'{during}' is no time span; write 2026-02-01T22:00:00Z..2026-02-02T04:00:00Z")
    span = parse_range(during, now_ns)
    return span.start_ns, span.end_ns


@command.command("list", short_help="Rules that hold.", examples={"hostsight suppress list --all": ""})
@click.option("--all", "ended", is_flag=True, help="Those that have ended, too.")
@json_option
def list_rules(ended: bool, as_json: bool) -> None:
    """List the rules that hold or are yet to come."""
    from models.muting import list_suppressions

    now_ns = time.time_ns()
    with state(data_folder()) as connection:
        rules = list_suppressions(connection, now_ns, ended=ended)
    if as_json:
        from cli.output import print_json

        print_json([rule.to_json() for rule in rules])
    elif rules:
        _show(rules, now_ns)
    else:
        from cli.output import narrate

        narrate("nothing is suppressed")


def _show(rules: Sequence[Suppression], now_ns: int) -> None:
    from cli.output import print_table
    from hostsight.clock import iso

    print_table(
        ("id", "holds", "host", "subsystem", "device", "metric", "from", "until", "reason"),
        (
            (
                rule.id,
                "yes" if rule.holds(now_ns) else "no",
                rule.host,
                rule.subsystem,
                rule.device,
                rule.metric,
                iso(rule.from_ns),
                iso(rule.until_ns) or "it is ended",
                rule.reason,
            )
            for rule in rules
        ),
        numbers=("id",),
        prose=("reason",),
    )


@command.command("end", short_help="End a rule.", examples={"hostsight suppress end 4": ""})
@click.argument("rule", type=NUMBER, shell_complete=_complete_rule)
def end(rule: int) -> None:
    """End RULE now. An episode that goes on is loud again with its next anomalous window."""
    from cli.output import narrate
    from jobs.operations import unsuppress

    data = data_folder()
    settings = load_settings(data)
    with state(data, writing=True) as connection:
        unsuppress(connection, settings.alerts, rule, time.time_ns())
    narrate(f"suppression {rule} has ended")
