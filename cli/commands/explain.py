"""`hostsight explain`"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from cli.context import data_folder
from cli.options import NUMBER, Command, json_option
from cli.state import complete_episode, state

if TYPE_CHECKING:
    from models.episode_store import Episode, EpisodeDetail

SHOWN = 15
"""Channels shown in a table; JSON has them all."""


@click.command(
    "explain",
    cls=Command,
    examples={
        "hostsight explain 3": "",
        "hostsight explain 3 --json | jq '.attribution[0]'": "the channel that explains most",
    },
)
@click.argument("episode", type=NUMBER, shell_complete=complete_episode)
@json_option
def command(episode: int, as_json: bool) -> None:
    """Show one EPISODE in full: how much each channel explains, expected against actual, and which detectors agree.

    `hostsight anomalies` lists the numbers of the episodes.
    """
    from models.episode_store import get_episode

    with state(data_folder()) as connection:
        detail = get_episode(connection, episode)
    if as_json:
        from cli.output import print_json

        print_json(detail.to_json())
    else:
        _show(detail)


def _show(detail: EpisodeDetail) -> None:
    from cli.output import safe
    from cli.text import percent
    from hostsight.clock import iso

    episode = detail.episode
    ended = f"to {iso(episode.last_seen_ns)}" if episode.closed_ns else "and still open"
    click.echo(f"episode {episode.id} on {safe(episode.host)}: {safe(episode.summary)}\n")
    click.echo(f"{episode.severity}, confidence {percent(episode.confidence)}")
    click.echo(f"from {iso(episode.opened_ns)} {ended}")
    if episode.regime:
        click.echo(f"regime: {safe(episode.regime)}")
    for line in _remarks(episode):
        click.echo(safe(line))
    click.echo(f"judged by model {safe(episode.model)}\n")
    _show_attribution(detail)
    _show_detectors(detail)


def _remarks(episode: Episode) -> Iterator[str]:
    """What people have said about it, or about the like of it."""
    from hostsight.clock import iso

    if episode.acknowledged_ns is not None:
        yield f"acknowledged at {iso(episode.acknowledged_ns)}"
    if episode.rule_id is not None:
        yield f"muted by suppression {episode.rule_id} (`hostsight suppress list --all`)"
    if episode.false_alarm_id is not None:
        yield f"muted as a false alarm{_known_from(episode, episode.false_alarm_id)}"
    if episode.cause:
        yield f"cause: {episode.cause}{_known_from(episode, episode.cause_id)}"


def _known_from(episode: Episode, other: int | None) -> str:
    return "" if other in {None, episode.id} else f", like episode {other}"


def _show_attribution(detail: EpisodeDetail) -> None:
    from cli.output import narrate, print_table
    from cli.text import percent
    from hostsight.quantity import quantity

    print_table(
        ("share", "subsystem", "device", "metric", "expected", "actual", ""),
        (
            (
                percent(item.share),
                item.subsystem,
                item.device,
                item.metric,
                quantity(item.expected, item.unit),
                quantity(item.actual, item.unit),
                item.direction,
            )
            for item in detail.attribution[:SHOWN]
        ),
        numbers=("share", "expected", "actual"),
    )
    rest = detail.attribution[SHOWN:]
    if rest:
        narrate(
            f"and {len(rest)} more with {percent(sum(item.share for item in rest))} in all; --json shows them"
        )
    click.echo()


def _show_detectors(detail: EpisodeDetail) -> None:
    from cli.output import print_table

    print_table(
        ("detector", "tail probability", "anomalous below"),
        ((item.name, f"{item.tail_probability:.2g}", f"{item.threshold:.2g}") for item in detail.detectors),
        numbers=("tail probability", "anomalous below"),
    )
