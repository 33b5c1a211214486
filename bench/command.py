"""`hostsight bench`: each benchmark prints one JSON document."""

from __future__ import annotations

import click

from cli.context import collection_settings, data_folder, load_settings
from cli.options import Group, seconds
from cli.output import narrate, print_json


@click.group("bench", cls=Group)
def command() -> None:
    """Measure hostsight itself on this machine. Each benchmark prints one JSON document.

    Figures hold for the machine they were measured on; what else ran there at the time is in them.
    """
