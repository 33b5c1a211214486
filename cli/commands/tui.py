"""`hostsight tui`"""

from __future__ import annotations

import sys

import click

from cli.context import load_settings, telemetry_folder
from cli.options import Command
from hostsight.errors import UnavailableError


def require_terminal() -> None:
    """Raises UnavailableError where there is no terminal to draw on."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UnavailableError(
            "the console needs a terminal; use `hostsight status`, `anomalies` and `sql` in scripts, or `up --no-tui`"
        )


@click.command(
    "tui",
    cls=Command,
    examples={
        "hostsight tui": "look at this machine",
        "hostsight tui --data DIR": "look at a copied data folder",
    },
)
def command() -> None:
    """Open the console on what is running already, or on a data folder that was copied here.

    It only reads, but for acknowledgements. Press ? in it for the keys; q leaves it, and the agent and the jobs go on.
    """
    require_terminal()
    data = telemetry_folder()
    settings = load_settings(data)
    from tui.app import run_console

    run_console(data, settings)
