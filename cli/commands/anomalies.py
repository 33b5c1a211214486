"""`hostsight anomalies`"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from cli.context import data_folder
from cli.options import Command, json_option, time_range
from cli.state import check_host, complete_host, state

if TYPE_CHECKING:
    from models.episode_store import Episode


@click.command(
    "anomalies",
    cls=Command,
    examples={
        "hostsight anomalies": "the last day",
        "hostsight anomalies --since now-6h..now-1h": "from six hours ago to one hour ago",
        "hostsight anomalies --since 2026-01-31 --json": "as JSON, from that day on",
    },
)
@click.option(
    "--since", default="24h", show_default=True, metavar="RANGE", callback=time_range,
    help="6h, now-6h..now-1h, 2026-01-31T12:00:00Z.. (UTC).",
)  # fmt: skip
@click.option("--host", metavar="H", shell_complete=complete_host, help="Only this host.")
@json_option
def command(since: tuple[int, int], host: str | None, as_json: bool) -> None:
    """List episodes, newest first: what departed from normal, where, how surely.

    An episode is a run of anomalous windows that one cause explains. `hostsight explain ID` shows one in full.
    """
    from models.episode_store import list_episodes

    with state(data_folder()) as connection:
        if host is not None:
            check_host(connection, host)
        episodes = list_episodes(connection, since_ns=since[0], until_ns=since[1], host=host)
    if as_json:
        from cli.output import print_json

        print_json([episode.to_json() for episode in episodes])
    elif episodes:
        _show(episodes)
    else:
        from cli.output import narrate

        narrate("no episodes in that time")


def _show(episodes: Sequence[Episode]) -> None:
    from cli.output import print_table, severity
    from cli.text import percent
    from hostsight.clock import iso

    print_table(
        ("id", "host", "severity", "opened", "lasted", "confidence", "summary"),
        (
            (
                episode.id,
                episode.host,
                severity(episode.severity),
                iso(episode.opened_ns),
                _lasted(episode),
                percent(episode.confidence),
                episode.summary,
            )
            for episode in episodes
        ),
        numbers=("id", "confidence"),
        prose=("summary",),
    )


def _lasted(episode: Episode) -> str:
    from cli.text import rough_duration
    from hostsight.clock import SECOND_NS

    lasted = rough_duration((episode.last_seen_ns - episode.opened_ns) / SECOND_NS)
    return f"{lasted}, open" if episode.state == "open" else lasted
