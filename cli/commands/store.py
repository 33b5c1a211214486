"""`hostsight store`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.context import data_folder, load_settings
from cli.options import Group, json_option, time_range
from cli.state import complete_host
from hostsight.errors import UnavailableError

if TYPE_CHECKING:
    from ingest.influx.check import Finding
    from ingest.influx.client import InfluxClient


@click.group("store", cls=Group)
def command() -> None:
    """Make InfluxDB ready, and say what is wrong with it.

    Where it is and how to get in is said by [influx] in the settings, by HOSTSIGHT_INFLUX_* or by the INFLUXDB_V2_*
    variables of InfluxDB's own client.
    """


@command.command(
    "setup",
    short_help="Make bucket and retention.",
    examples={
        "hostsight store setup": "with the retention of [influx] retention",
        "HOSTSIGHT_INFLUX_RETENTION=90d hostsight store setup": "keep three months",
    },
)
def setup() -> None:
    """Make the bucket with its retention, unless it exists, and check what the token may do.

    It needs a token that may make buckets; agents and `serve` need one that may read and write this bucket. With
    InfluxDB 1.8 the bucket is `database/retention`.
    """
    from cli.output import safe
    from ingest.influx.client import InfluxClient
    from ingest.influx.setup import set_up

    with InfluxClient(load_settings(data_folder()).influx) as client:
        for sentence in set_up(client):
            click.echo(safe(sentence))
        _require(_look(client))


@command.command(
    "check",
    short_help="Say what is wrong with it.",
    examples={
        "hostsight store check": "address, version, clock, rights",
        "hostsight store check --json": "the same for programs",
    },
)
@json_option
def check(as_json: bool) -> None:
    """Look at address, version, clock and rights; exit code 3 where something stands in the way. It leaves no trace."""
    from cli.output import print_json
    from ingest.influx.client import InfluxClient

    with InfluxClient(load_settings(data_folder()).influx) as client:
        found = _look(client, quiet=as_json)
    if as_json:
        print_json([{"subject": one.subject, "ok": one.ok, "sentence": one.sentence} for one in found])
    _require(found)


@command.command(
    "reexport",
    short_help="Do a time range again.",
    examples={
        "hostsight store reexport now-6h..now-4h": "every host",
        "hostsight store reexport 1d --host gpu01": "one host, the last day",
    },
)
@click.argument("span", metavar="RANGE", callback=time_range)
@click.option("--host", metavar="H", shell_complete=complete_host, help="This host alone.")
@json_option
def reexport(span: tuple[int, int], host: str | None, as_json: bool) -> None:
    """Take samples that reached the store after their windows had closed into the lake, with their features.

    RANGE is `6h` or `now-6h..now-1h`. Scores and episodes stay as they were judged. `hostsight serve` must not run on this
    data folder meanwhile.
    """
    from cli.output import narrate, print_json, safe
    from cli.state import check_host, state
    from hostsight.timerange import TimeRange
    from jobs.reexport import run_reexport

    data = data_folder()
    if host is not None:
        with state(data) as connection:
            check_host(connection, host)
    hours = run_reexport(load_settings(data), data, TimeRange(*span), host)
    if as_json:
        print_json(list(hours))
        return
    done = False
    for hour in hours:
        done = True
        click.echo(safe(f"{hour.host} {hour.start}..{hour.end}: {hour.changed:,} samples added or changed"))
    if not done:
        narrate("nothing was done: no host has windows in that range; `hostsight serve` makes them")


def _look(client: InfluxClient, *, quiet: bool = False) -> list[Finding]:
    from cli.output import safe
    from hostsight.clock import SystemClock
    from ingest.influx.check import check as look

    found = look(client, SystemClock())
    for one in found if not quiet else ():
        click.echo(f"{'ok' if one.ok else 'WRONG':<6}{safe(one.sentence)}")
    return found


def _require(found: list[Finding]) -> None:
    wrong = [one.subject for one in found if not one.ok]
    if wrong:
        raise UnavailableError(f"InfluxDB cannot be used as it is ({', '.join(wrong)}); see above")
