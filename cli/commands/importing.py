"""`hostsight import`"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from cli.context import data_folder, load_settings
from cli.options import Group, json_option
from hostsight.errors import UnavailableError

if TYPE_CHECKING:
    from hostsight.folders import DataFolder
    from jobs.catch_up import Imported
    from jobs.progress import HostProgress

TELL_SECONDS = 5.0
"""How often a long import says how far it is."""


_RECORDING = "recording"


class _Sources(Group):
    """What is no source's name is the path of a recording: `hostsight import FILE`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), _RECORDING])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name != _RECORDING:
            return super().get_command(ctx, cmd_name)
        from cli.commands.import_recording import command as recording

        return recording

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = args[0] in self.list_commands(ctx)
        return super().resolve_command(ctx, args if known else [_RECORDING, *args])


@click.group(
    "import",
    cls=_Sources,
    context_settings={"ignore_unknown_options": True},
    subcommand_metavar="FILE | SOURCE [ARGS]...",
)
def command() -> None:
    """Bring in telemetry from elsewhere: a recording (`hostsight import FILE`), or what InfluxDB holds.

    A file that has the name of a source is written with its folder: `hostsight import ./influx`.
    """


@command.command(
    "influx",
    short_help="What InfluxDB holds.",
    examples={
        "hostsight import influx --bucket telegraf": "what telegraf wrote: windows of three of its intervals",
        "hostsight import influx --since 2d": "two days of the bucket of [influx] bucket",
        "hostsight anomalies --since 2d": "then: what was unusual in it",
    },
)
@click.option("--bucket", metavar="NAME", help="Instead of [influx] bucket.")
@click.option("--interval", metavar="DURATION", help="Of telegraf, instead of [influx] telegraf_interval.")
@click.option(
    "--since",
    metavar="DURATION",
    help="How far back to begin; otherwise as far as samples are kept here ([retention] samples).",
)
@json_option
def influx(bucket: str | None, interval: str | None, since: str | None, as_json: bool) -> None:
    """Bring in all hosts of a bucket, up to now: hostsight's own telemetry, or telegraf's, which is recognised.

    Where InfluxDB is and how to get in is said by [influx] in the settings. Only reads there. Doing it again carries on
    from where it ended; `hostsight serve --store influx` goes on doing it live.
    """
    from cli.output import narrate
    from jobs.catch_up import run_import
    from jobs.telegraf import recognised

    data = data_folder()
    flags = {
        ("store", "kind"): "influx",
        ("influx", "bucket"): bucket,
        ("influx", "telegraf_interval"): interval,
        ("retention", "samples"): since,
    }
    settings = recognised(load_settings(data, flags))
    whose = "telegraf" if settings.store.kind == "telegraf" else "hostsight"
    window = settings.window
    narrate(
        f"reading bucket '{settings.influx.bucket}' as {whose}'s: windows of {window.length} every {window.stride}"
    )
    done = run_import(settings, data, _Teller().tell)
    if not done:
        raise UnavailableError(
            f"bucket '{settings.influx.bucket}' holds no telemetry of hostsight or telegraf; --bucket names another"
        )
    _show(data, done, as_json=as_json)


class _Teller:
    """A line every few seconds, so that a long import is seen to get on."""

    def __init__(self) -> None:
        self._next = time.monotonic() + TELL_SECONDS

    def tell(self, host: HostProgress) -> None:
        from cli.output import narrate, safe
        from hostsight.clock import iso

        if time.monotonic() >= self._next:
            self._next = time.monotonic() + TELL_SECONDS
            narrate(f"{safe(host.host)}: {host.windows:,} windows, up to {iso(host.position_ns)}")


def _show(data: DataFolder, done: list[Imported], *, as_json: bool) -> None:
    from cli.output import narrate, print_json, print_table
    from cli.state import state
    from hostsight.clock import iso
    from models.episode_store import list_episodes

    with state(data) as connection:
        rows = [
            {
                "host": one.host,
                "windows": one.windows,
                "until": iso(one.to_ns),
                "episodes": len(list_episodes(connection, host=one.host)),
            }
            for one in done
        ]
    for problem in {one.problem for one in done if one.problem}:
        narrate(problem)
    if as_json:
        print_json(rows)
    else:
        numbers = ("windows", "episodes")
        print_table(list(rows[0]), [list(row.values()) for row in rows], numbers=numbers)
