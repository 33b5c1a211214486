"""What `status` shows of the alerts that go out."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

import msgspec

from hostsight.settings import AlertSettings
from jobs.alerts import receivers


class AlertStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Messages to one receiver since the first; error: of the one that waits to be sent next, or was refused last."""

    receiver: str
    waiting: int
    sent: int
    refused: int
    error: str | None


_COUNTS = """
SELECT coalesce(sum(state = 'waiting'), 0) AS waiting, coalesce(sum(state = 'sent'), 0) AS sent,
  coalesce(sum(state = 'refused'), 0) AS refused
FROM alerts WHERE receiver = ?
"""
_ERROR = """
SELECT error FROM alerts WHERE receiver = ? AND error IS NOT NULL AND state != 'sent'
ORDER BY state = 'waiting' DESC, iif(state = 'waiting', id, -id) LIMIT 1
"""


def read_alerts(connection: sqlite3.Connection, settings: AlertSettings) -> tuple[AlertStatus, ...]:
    """One a receiver that the settings name."""
    return tuple(_read(connection, name) for name in receivers(settings))


def _read(connection: sqlite3.Connection, receiver: str) -> AlertStatus:
    counts = connection.execute(_COUNTS, (receiver,)).fetchone()
    error = connection.execute(_ERROR, (receiver,)).fetchone()
    return AlertStatus(receiver=receiver, error=error["error"] if error else None, **dict(counts))


def alert_problems(alerts: Sequence[AlertStatus]) -> Iterator[str]:
    """Sentences for `status`: what, where, remedy."""
    for one in alerts:
        if one.waiting and one.error:
            wait = "alert waits" if one.waiting == 1 else "alerts wait"
            yield f"{one.waiting:,} {wait} for the {one.receiver}: {one.error}; what waits is sent once it answers"
        elif one.refused:
            yield f"the {one.receiver} refused for good what it was told {one.refused:,} times: {one.error}; correct [alerts] {one.receiver}"
