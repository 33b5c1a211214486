"""`hostsight models list, show, rollback`"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from cli.context import data_folder, load_settings
from cli.options import Group, json_option
from cli.state import check_host, complete_host, complete_model, known_hosts, state
from hostsight.errors import UsageError

if TYPE_CHECKING:
    from models.regimes import Regime
    from models.report import RefitReport
    from models.store import ModelDetail, ModelRow, ModelStore


@click.group("models", cls=Group)
def command() -> None:
    """List the models learnt so far, show one, or return to an earlier one.

    A model is what hostsight learnt to be normal for one host. One is live for each host: it judges every window.
    """


@contextmanager
def _opened(*, writing: bool = False) -> Iterator[tuple[ModelStore, sqlite3.Connection]]:
    """The models of the data folder, and its state database."""
    from models.store import ModelStore

    data = data_folder()
    settings = load_settings(data)
    with state(data, writing=writing) as connection:
        yield ModelStore(data, connection, settings.window), connection


@command.command(
    "list", short_help="Models, newest first.", examples={"hostsight models list --json": "as a JSON list"}
)
@click.option("--host", metavar="H", shell_complete=complete_host, help="Only this host.")
@json_option
def list_models(host: str | None, as_json: bool) -> None:
    """List models, newest first, with the telemetry each was learnt from."""
    with _opened() as (store, connection):
        if host is not None:
            check_host(connection, host)
        rows = store.list(host)
    if as_json:
        from cli.output import print_json

        print_json([row.to_json() for row in rows])
    elif rows:
        _show_rows(rows)
    else:
        from cli.output import narrate

        narrate("no model yet: `hostsight up` learns the first one in its warm-up")


def _show_rows(rows: Sequence[ModelRow]) -> None:
    from cli.output import print_table
    from cli.text import rough_duration
    from hostsight.clock import SECOND_NS, iso

    print_table(
        ("model", "host", "state", "learnt up to", "from", "windows", "channels", "why"),
        (
            (
                row.model,
                row.host,
                row.state,
                iso(row.trained_to_ns),
                rough_duration((row.trained_to_ns - row.trained_from_ns) / SECOND_NS),
                f"{row.windows:,}",
                f"{row.kept_channels} of {row.channels}",
                row.reason,
            )
            for row in rows
        ),
        numbers=("windows", "channels"),
        prose=("why",),
        copied="model",
    )


@command.command(
    "show",
    short_help="One model in full.",
    examples={"hostsight models show MODEL": "a name from `models list`"},
)
@click.argument("model", shell_complete=complete_model)
@json_option
def show(model: str, as_json: bool) -> None:
    """Show MODEL in full: its data, detectors, library versions, and the channels it works on."""
    with _opened() as (store, _):
        detail = store.show(model)
    if as_json:
        from cli.output import print_json

        print_json(detail.to_json())
    else:
        _show_detail(detail)


def _channels(row: ModelRow) -> str:
    if row.kept_channels == row.channels:
        return f"{row.channels}, none left out:"
    return f"{row.kept_channels} of {row.channels}; the others are represented by these:"


def _show_detail(detail: ModelDetail) -> None:
    from cli.output import safe
    from hostsight.clock import iso

    row = detail.row
    libraries = ", ".join(f"{name} {version}" for name, version in sorted(detail.libraries.items()))
    for name, fact in {
        "model": row.model,
        "host": row.host,
        "state": f"{row.state}, made {iso(row.created_ns)} ({row.reason})",
        "learnt from": f"{iso(row.trained_from_ns)} to {iso(row.trained_to_ns)}, {row.windows:,} windows",
        "detectors": f"{', '.join(detail.detectors)}; anomalous beyond percentile {detail.percentile:g}",
        "libraries": libraries,
        **_verdict(detail),
        "folder": detail.folder,
        "channels": _channels(row),
    }.items():
        click.echo(f"{name:<13}{safe(fact)}")
    for label in detail.kept:
        click.echo(f"  {safe(label)}")
    _show_regimes(detail.regimes)
    _show_drift(detail.report)


def _show_regimes(regimes: Sequence[Regime]) -> None:
    """The kinds of behaviour that it tells apart."""
    from cli.output import print_table
    from cli.text import percent, plural
    from hostsight.clock import iso

    if len(regimes) < 2:
        click.echo("\none regime: nothing in training is clearly apart from the rest")
        return
    click.echo(f"\n{plural(len(regimes), 'regime')}, each with a usual level and spread of its own:")
    print_table(
        ("regime", "of training", "first seen", "last seen"),
        ((each.name, percent(each.share), iso(each.first_ns), iso(each.last_ns)) for each in regimes),
        numbers=("of training",),
    )


def _verdict(detail: ModelDetail) -> Mapping[str, str]:
    """What the refit that made it found."""
    from cli.text import percent, plural

    report = detail.report
    if report is None:
        return {}
    facts = {"left out": f"{plural(report.quarantined, 'window')} of episodes"}
    if report.live_flagged is not None:
        facts["compared"] = (
            f"of the newest {plural(report.held_back, 'window')} a model of the rest flags {percent(report.flagged)},"
            f" {report.compared_with} flagged {percent(report.live_flagged)}"
        )
    return facts


def _show_drift(report: RefitReport | None) -> None:
    """How normal has changed since the model that was live before."""
    from cli.output import print_table, safe
    from cli.text import plural
    from hostsight.quantity import quantity

    if report is None or report.compared_with is None:
        return
    click.echo(f"\nsince {safe(report.compared_with)}: {plural(report.drifted, 'channel')} drifted")
    if report.drift:
        print_table(
            ("steps", "subsystem", "device", "metric", "before", "now"),
            (
                (
                    f"{one.steps:+.3g}",
                    one.subsystem,
                    one.device,
                    one.metric,
                    quantity(one.before, one.unit),
                    quantity(one.after, one.unit),
                )
                for one in report.drift
            ),
            numbers=("steps", "before", "now"),
        )
    for word, labels in (("new", report.appeared), ("gone", report.vanished)):
        for label in labels:
            click.echo(f"{word:<5}{safe(label)}")


@command.command(
    "rollback",
    short_help="Return to an earlier model.",
    examples={
        "hostsight models rollback": "the model that was live before",
        "hostsight models rollback MODEL --host gpu01": "a certain one",
    },
)
@click.argument("model", required=False, shell_complete=complete_model)
@click.option(
    "--host",
    metavar="H",
    shell_complete=complete_host,
    help="Whose model; needed where there are several hosts.",
)
def rollback(model: str | None, host: str | None) -> None:
    """Make MODEL live again, or the one that was live before; running jobs take it up with the next window."""
    from cli.output import narrate

    with _opened(writing=True) as (store, connection):
        target = store.rollback(host or _only(known_hosts(connection)), model)
    narrate(f"live now: {target}")


def _only(hosts: Sequence[str]) -> str:
    if len(hosts) != 1:
        names = ", ".join(hosts) or "none yet"
        raise UsageError(f"say whose model with --host; known hosts: {names}")
    return hosts[0]
