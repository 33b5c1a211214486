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
@click.option(
    "--muted", is_flag=True, help="Those that alert nobody, too: suppressed, or like a false alarm."
)
@json_option
def command(since: tuple[int, int], host: str | None, muted: bool, as_json: bool) -> None:
    """List episodes, newest first: what departed from normal, where, how surely.

    An episode is a run of anomalous windows that one cause explains. `hostsight explain ID` shows one in full.
    """
    from models.episode_store import list_episodes

    with state(data_folder()) as connection:
        if host is not None:
            check_host(connection, host)
        episodes = list_episodes(connection, since_ns=since[0], until_ns=since[1], host=host)
    quiet = 0 if muted else sum(episode.muted for episode in episodes)
    episodes = [episode for episode in episodes if muted or not episode.muted]
    if as_json:
        from cli.output import print_json

        print_json([episode.to_json() for episode in episodes])
    elif episodes:
        _show(episodes)
    else:
        from cli.output import narrate

        narrate(
            "no episodes in that time; `hostsight status` says whether it was judged, or is still learnt from"
        )
    if quiet:
        from cli.output import narrate
        from cli.text import plural

        narrate(f"{plural(quiet, 'muted episode')} left out; --muted shows them")


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
                remarks(episode) + episode.summary,
            )
            for episode in episodes
        ),
        numbers=("id", "confidence"),
        prose=("summary",),
    )


def remarks(episode: Episode) -> str:
    """What a person said about it, or about the like of it, before the summary."""
    said = [
        "acknowledged" if episode.acknowledged_ns is not None else "",
        f"suppressed by rule {episode.rule_id}" if episode.rule_id is not None else "",
        "false alarm" if episode.false_alarm_id is not None else "",
        f"cause {episode.cause}" if episode.cause else "",
    ]
    return "".join(f"[{words}] " for words in said if words)


def _lasted(episode: Episode) -> str:
    from cli.text import rough_duration
    from hostsight.clock import SECOND_NS

    lasted = rough_duration((episode.last_seen_ns - episode.opened_ns) / SECOND_NS)
    return f"{lasted}, open" if episode.state == "open" else lasted
