"""Who is to be told of which episode: the outbox, rows of `alerts`, written in the transaction that changes an episode.

An episode is alerted about while it is open, loud (not muted), not acknowledged, and severe enough. Each time that
begins, ends, or its severity changes, one message a receiver is queued; nothing else is, so none is a duplicate. One that
closed may still open again: that it is resolved is queued by `queue_resolved`, once it cannot.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Literal, get_args

import msgspec

from hostsight.settings import AlertSettings
from jobs.schedule import MATERIALISE
from migrations.transaction import transaction
from models.episode_state import SEVERITIES, Severity
from models.episode_store import Episode, EpisodeDetail, get_episode

Receiver = Literal["webhook", "alertmanager"]
Status = Literal["firing", "resolved"]

RECEIVERS: tuple[Receiver, ...] = get_args(Receiver)


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """A message to one receiver, as it lies in the outbox; `body` is the episode as JSON, as it was then."""

    id: int
    receiver: Receiver
    episode_id: int
    status: Status
    severity: Severity
    body: str
    queued_ns: int
    attempts: int


def receivers(settings: AlertSettings) -> tuple[Receiver, ...]:
    """Those that the settings name an address of."""
    return tuple(name for name in RECEIVERS if getattr(settings, name))


def queue_alerts(
    connection: sqlite3.Connection, settings: AlertSettings, episode_ids: Iterable[int], now_ns: int
) -> None:
    """Within the caller's transaction: what is now to be said of these episodes."""
    names = receivers(settings)
    for episode_id in episode_ids if names else ():
        detail = get_episode(connection, episode_id)
        for name in names:
            change = _change(detail.episode, _newest(connection, name, episode_id), settings)
            if change is not None:
                _queue(connection, name, detail, change, now_ns)


_OVER = """
SELECT a.episode_id, a.severity FROM alerts a JOIN episodes e ON e.id = a.episode_id
  LEFT JOIN watermarks w ON w.job = :job AND w.host = e.host
WHERE a.id IN (SELECT max(id) FROM alerts WHERE receiver = :receiver GROUP BY episode_id)
  AND a.status = 'firing' AND e.state = 'closed'
  AND (w.position_ns IS NULL OR w.position_ns > e.closed_ns + :gap_ns OR max(w.updated_ns, :began_ns) < :now_ns - :gap_ns)
ORDER BY e.closed_ns, a.id
"""


def queue_resolved(
    connection: sqlite3.Connection, receiver: Receiver, gap_ns: int, began_ns: int, now_ns: int
) -> None:
    """What closed and cannot open again: its host was judged for `gap_ns` beyond that, or has been silent for so long.

    Before `began_ns` nobody listened, so that was no silence.
    """
    about = {
        "job": MATERIALISE,
        "receiver": receiver,
        "gap_ns": gap_ns,
        "began_ns": began_ns,
        "now_ns": now_ns,
    }
    if connection.execute(_OVER, about).fetchone() is None:
        return
    with transaction(connection):
        for row in connection.execute(_OVER, about).fetchall():
            detail = get_episode(connection, row["episode_id"])
            _queue(connection, receiver, detail, ("resolved", row["severity"]), now_ns)


def _queue(
    connection: sqlite3.Connection,
    receiver: Receiver,
    detail: EpisodeDetail,
    change: tuple[Status, Severity],
    now_ns: int,
) -> None:
    body = msgspec.json.encode(detail.to_json()).decode()
    connection.execute(
        "INSERT INTO alerts (receiver, episode_id, status, severity, body, queued_ns) VALUES (?, ?, ?, ?, ?, ?)",
        (receiver, detail.episode.id, *change, body, now_ns),
    )


def _change(
    episode: Episode, before: tuple[Status, Severity] | None, settings: AlertSettings
) -> tuple[Status, Severity] | None:
    """What is to be said after `before`, the newest message of the episode; None: nothing."""
    if alerting(episode, settings):
        wanted: tuple[Status, Severity] = ("firing", _severity(episode.severity))
        return None if wanted == before else wanted
    if episode.state == "closed":
        return None
    return ("resolved", before[1]) if before is not None and before[0] == "firing" else None


def alerting(episode: Episode, settings: AlertSettings) -> bool:
    severe = SEVERITIES.index(_severity(episode.severity)) >= SEVERITIES.index(settings.severity)
    return episode.state == "open" and not episode.muted and episode.acknowledged_ns is None and severe


def _severity(word: str) -> Severity:
    return next(known for known in SEVERITIES if known == word)


def _newest(
    connection: sqlite3.Connection, receiver: Receiver, episode_id: int
) -> tuple[Status, Severity] | None:
    row = connection.execute(
        "SELECT status, severity FROM alerts WHERE receiver = ? AND episode_id = ? ORDER BY id DESC LIMIT 1",
        (receiver, episode_id),
    ).fetchone()
    return (row["status"], row["severity"]) if row else None


def oldest_waiting(connection: sqlite3.Connection, receiver: Receiver) -> Alert | None:
    """The one to be sent next: messages keep their order."""
    row = connection.execute(
        "SELECT * FROM alerts WHERE receiver = ? AND state = 'waiting' ORDER BY id LIMIT 1", (receiver,)
    ).fetchone()
    return _alert(row) if row else None


def standing(connection: sqlite3.Connection, receiver: Receiver) -> list[Alert]:
    """The newest message of each episode, where it was sent and says that the episode goes on."""
    rows = connection.execute(
        """SELECT * FROM alerts WHERE status = 'firing' AND state = 'sent'
          AND id IN (SELECT max(id) FROM alerts WHERE receiver = ? GROUP BY episode_id) ORDER BY id""",
        (receiver,),
    )
    return [_alert(row) for row in rows.fetchall()]


def severity_before(connection: sqlite3.Connection, alert: Alert) -> Severity | None:
    """The severity that the receiver knows the episode by, where the last message to arrive said that it fires."""
    row = connection.execute(
        "SELECT status, severity FROM alerts WHERE receiver = ? AND episode_id = ? AND id < ? AND state = 'sent' ORDER BY id DESC LIMIT 1",
        (alert.receiver, alert.episode_id, alert.id),
    ).fetchone()
    return _severity(row["severity"]) if row and row["status"] == "firing" else None


def mark(connection: sqlite3.Connection, alert: Alert, state: str, error: str | None = None) -> None:
    """One more attempt, and what came of it: `sent`, `refused` for good, or still `waiting`."""
    connection.execute(
        "UPDATE alerts SET state = ?, error = ?, attempts = attempts + 1 WHERE id = ?",
        (state, error, alert.id),
    )


def _alert(row: sqlite3.Row) -> Alert:
    return msgspec.convert({key: row[key] for key in Alert.__struct_fields__}, Alert)
