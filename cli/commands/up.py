"""`hostsight up`"""

from __future__ import annotations

import sys
from collections import deque
from typing import TYPE_CHECKING

import click

from cli.context import collection_settings, data_folder
from cli.options import Command, seconds, store_option

if TYPE_CHECKING:
    from hostsight.folders import DataFolder
    from hostsight.settings import Settings


@click.command(
    "up",
    cls=Command,
    examples={
        "hostsight up": "watch this machine in a console; q ends it",
        "hostsight up --no-tui": "the same as plain lines; Ctrl-C ends it",
        "hostsight up --for 10m --warmup 60s": "ten minutes, the first of them to learn what is normal",
    },
)
@click.option("--for", "length", metavar="DURATION", callback=seconds, help="Stop by itself after so long.")
@click.option(
    "--no-tui", is_flag=True, help="Print lines instead of the console; so it does without a terminal."
)
@click.option(
    "--warmup", metavar="DURATION", help="Telemetry the first baseline needs, instead of [detect] warmup."
)
@click.option("--root", metavar="DIR", help="Prefix of /proc and /sys, instead of [agent] root.")
@store_option
def command(
    length: float | None, no_tui: bool, warmup: str | None, root: str | None, store: str | None
) -> None:
    """Watch this machine: agent, jobs and console together, until you leave the console.

    It first learns what is normal here (3 minutes unless --warmup says otherwise). From then on, what departs from that
    appears as an episode: which subsystem, which device, which metrics, expected against actual.

    Telemetry and what was learnt stay in the data folder: the next start goes on from there.
    """
    from cli.supervision import require_free

    data = data_folder()
    settings = collection_settings(data, root, {("detect", "warmup"): warmup, ("store", "kind"): store})
    _check_receivers(settings)
    data.create()
    require_free(data)
    if no_tui or not (sys.stdin.isatty() and sys.stdout.isatty()):
        _in_lines(settings, data, length)
    else:
        _in_console(settings, data, length)


def _check_receivers(settings: Settings) -> None:
    """The jobs would only fail on them again and again. Without any, the first frame need not wait for this import."""
    from hostsight.settings import AlertSettings

    if settings.alerts != AlertSettings():
        from jobs.receivers import check_outward

        check_outward(settings.alerts)


def _in_lines(settings: Settings, data: DataFolder, length: float | None) -> None:
    from cli.lines import open_lines
    from cli.narration import narrate
    from cli.supervision import Supervision, on_termination

    with (
        open_lines() as lines,
        Supervision(settings, data, length, lines.say) as running,
        on_termination(running.stop),
    ):
        lines.say(f"starting; telemetry goes to {data.root}")
        try:
            narrate(data, settings, lines, running.ended)
        except KeyboardInterrupt:
            lines.say("stopping")
            raise


def _in_console(settings: Settings, data: DataFolder, length: float | None) -> None:
    from cli.output import narrate
    from cli.supervision import Supervision, on_termination
    from tui.app import run_console

    said = deque[str](maxlen=20)
    with Supervision(settings, data, length, said.append) as running, on_termination(running.stop):
        run_console(data, settings, ended=running.ended)
    for line in said:
        narrate(line)
