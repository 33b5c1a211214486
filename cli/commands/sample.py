"""`hostsight sample`"""

from __future__ import annotations

import click

from cli.context import collection_settings, data_folder
from cli.options import Command, json_option


@click.command(
    "sample",
    cls=Command,
    examples={
        "hostsight sample": "every channel of this machine",
        "hostsight sample --json | jq -r '.[].metric' | sort -u": "the names of all metrics",
        "hostsight sample --root DIR": "the same from a captured tree of /proc and /sys",
    },
)
@click.option("--root", metavar="DIR", help="Prefix of /proc and /sys, instead of [agent] root.")
@json_option
def command(root: str | None, as_json: bool) -> None:
    """Read every channel once and show its value, unit and source; nothing is stored.

    Rates are taken between two readings a moment apart. A captured tree stands still: it gives gauges, and counters
    as they are.
    """
    from ingest.survey import sample_once

    settings = collection_settings(data_folder(), root)
    rows = sample_once(settings)
    if as_json:
        from cli.output import print_json

        print_json(rows)
        return
    from cli.output import print_table

    print_table(
        ("channel", "value", "unit", "source"),
        (
            (f"{row.subsystem} {row.device} {row.metric}", f"{row.value:.6g}", row.unit, row.source)
            for row in rows
        ),
        numbers=("value",),
        prose=("source",),
    )
