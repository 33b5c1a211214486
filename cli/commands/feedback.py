"""`hostsight feedback`"""

from __future__ import annotations

import time
from collections.abc import Iterable

import click

from cli.context import data_folder, load_settings
from cli.options import NUMBER, Command
from cli.state import complete_episode, state
from hostsight.errors import UsageError, nearest

_WORDS = ("ack", "unack", "false-alarm", "cause=ID", "withdraw")


@click.command(
    "feedback",
    cls=Command,
    examples={
        "hostsight feedback 3 ack": "somebody is at it: no more alerts about it",
        "hostsight feedback 3 false-alarm": "nothing was wrong: no alert about the like of it",
        "hostsight feedback 3 cause=numa-remote": "what it was: shown with the like of it",
        "hostsight feedback 3 withdraw": "as if nothing had been said about it",
    },
)
@click.argument("episode", type=NUMBER, shell_complete=complete_episode)
@click.argument("words", nargs=-1, required=True, metavar="WORD...")
def command(episode: int, words: tuple[str, ...]) -> None:
    """Say what you know about an EPISODE, in one WORD or more.

    ack: somebody is at it. Its alert is resolved and no other is sent about it; that ends with the episode.

    unack: take that back.

    false-alarm: nothing was wrong. It is muted, as is what is like it on that host: the same channels at no higher
    level. The next refit learns those windows as normal.

    cause=ID: what it was. Episodes that are like it, on any host, are shown with that cause.

    withdraw: take back what was said about it.
    """
    from cli.output import narrate
    from jobs.operations import give_feedback

    check(words)
    data = data_folder()
    settings = load_settings(data)
    with state(data, writing=True) as connection:
        give_feedback(connection, settings.alerts, episode, words, time.time_ns())
    narrate(f"episode {episode}: noted {', '.join(words)}")


def check(words: Iterable[str]) -> None:
    """Raises UsageError for what is no feedback."""
    for word in words:
        if word not in {"ack", "unack", "false-alarm", "withdraw"} and not word.startswith("cause="):
            raise UsageError(
                f"'{word}' is no feedback{nearest(word, _WORDS)}; write ack, unack, false-alarm, cause=ID or withdraw"
            )
