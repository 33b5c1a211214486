"""What keeps an episode quiet: suppressions by an operator, and false alarms that it is like.

A quiet (muted) episode is recorded as any other and alerts nobody. It is looked at again with every change of it and of
the rules, so what outgrows its rule, or outlasts it, becomes loud.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from hostsight.clock import iso
from hostsight.errors import UsageError

ANY = "*"
_ALIKE = 0.5
"""An episode is like another if channels that explain so much of it did the same there."""
_EXPLAINED = 0.8
"""The channel set of a false alarm: the strongest that explain so much of it."""
_FURTHER = 1.25
"""A channel is at a false alarm's level while it departs at most so many times as far."""

Name = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Part:
    """A channel's part in an episode; departure: how far it was from what was expected, None where that is not known."""

    name: Name
    share: float
    direction: str
    departure: float | None


class Suppression(msgspec.Struct, frozen=True, kw_only=True):
    """The four are patterns (`*`, `?`); the rule holds from `from_ns` until before `until_ns`, None: until it is ended."""

    id: int = 0
    host: str = ANY
    subsystem: str = ANY
    device: str = ANY
    metric: str = ANY
    from_ns: int
    until_ns: int | None = None
    reason: str = ""

    def holds(self, now_ns: int) -> bool:
        return self.from_ns <= now_ns and (self.until_ns is None or now_ns < self.until_ns)

    def to_json(self) -> dict[str, object]:
        facts = msgspec.to_builtins(self)
        return {
            **{key: facts[key] for key in ("id", "host", "subsystem", "device", "metric")},
            "from": iso(self.from_ns),
            "until": iso(self.until_ns),
            "reason": self.reason,
        }


def add_suppression(connection: sqlite3.Connection, rule: Suppression) -> int:
    """Within the caller's transaction; gives the rule's number."""
    found = connection.execute(
        """INSERT INTO suppressions (host, subsystem, device, metric, from_ns, until_ns, reason)
        VALUES (:host, :subsystem, :device, :metric, :from_ns, :until_ns, :reason) RETURNING id""",
        msgspec.structs.asdict(rule),
    ).fetchone()
    return int(found[0])


def end_suppression(connection: sqlite3.Connection, rule_id: int, now_ns: int) -> None:
    """From `now_ns` on it holds no more; raises UsageError where there is none, or it has ended already."""
    ended = connection.execute(
        "UPDATE suppressions SET until_ns = ?1, from_ns = min(from_ns, ?1) WHERE id = ?2 AND (until_ns IS NULL OR until_ns > ?1)",
        (now_ns, rule_id),
    )
    if not ended.rowcount:
        raise UsageError(
            f"there is no suppression {rule_id} that could be ended; `hostsight suppress list` shows them"
        )


def list_suppressions(
    connection: sqlite3.Connection, now_ns: int, *, ended: bool = False
) -> list[Suppression]:
    """Those that hold or will hold, and with `ended` the earlier ones, oldest first."""
    rows = connection.execute(
        "SELECT * FROM suppressions WHERE ? OR until_ns IS NULL OR until_ns > ? ORDER BY id", (ended, now_ns)
    )
    return [msgspec.convert(dict(row), Suppression) for row in rows]


def review(connection: sqlite3.Connection, episode_id: int) -> None:
    """Bring what mutes an episode, and the cause it is known by, to what holds now; within the caller's transaction."""
    row = connection.execute("SELECT * FROM episodes WHERE id = ?", (episode_id,)).fetchone()
    shown = _channels(connection, episode_id)
    connection.execute(
        "UPDATE episodes SET rule_id = ?, false_alarm_id = ? WHERE id = ?",
        (_rule(connection, row), _false_alarm(connection, row, shown), episode_id),
    )
    if row["cause_id"] != episode_id:
        known = _cause(connection, row, shown)
        connection.execute(
            "UPDATE episodes SET cause_id = ?, cause = ? WHERE id = ?",
            (known["id"] if known else None, known["cause"] if known else None, episode_id),
        )


def review_open(connection: sqlite3.Connection) -> list[int]:
    """All open episodes, after the rules have changed; gives their numbers."""
    found = [int(row["id"]) for row in connection.execute("SELECT id FROM episodes WHERE state = 'open'")]
    for episode_id in found:
        review(connection, episode_id)
    return found


def _rule(connection: sqlite3.Connection, episode: sqlite3.Row) -> int | None:
    found = connection.execute(
        """SELECT id FROM suppressions
        WHERE :host GLOB host AND :subsystem GLOB subsystem AND :device GLOB device AND :metric GLOB metric
          AND from_ns <= :last_seen_ns AND (until_ns IS NULL OR :last_seen_ns < until_ns)
        ORDER BY id LIMIT 1""",
        dict(episode),
    ).fetchone()
    return int(found["id"]) if found else None


def _false_alarm(connection: sqlite3.Connection, episode: sqlite3.Row, shown: Sequence[Part]) -> int | None:
    if episode["false_alarm_id"] == episode["id"]:
        return int(episode["id"])
    alarms = connection.execute(
        "SELECT id FROM episodes WHERE host = ? AND false_alarm_id = id ORDER BY id DESC", (episode["host"],)
    )
    for alarm in alarms.fetchall():
        known = _strongest(_channels(connection, alarm["id"]))
        if _main(episode) in known and likeness(shown, known, _FURTHER) >= _ALIKE:
            return int(alarm["id"])
    return None


def _cause(connection: sqlite3.Connection, episode: sqlite3.Row, shown: Sequence[Part]) -> sqlite3.Row | None:
    """The newest episode of any host whose cause a person named, and that this one is like at whatever level."""
    named = connection.execute("SELECT id, cause FROM episodes WHERE cause_id = id ORDER BY id DESC")
    for row in named.fetchall():
        known = _strongest(_channels(connection, row["id"]))
        if _main(episode) in known and likeness(shown, known, float("inf")) >= _ALIKE:
            found: sqlite3.Row = row
            return found
    return None


def likeness(shown: Sequence[Part], known: Mapping[Name, Part], further: float) -> float:
    """How much of an episode, by share, is explained by channels that did in `known` what they do here."""
    return sum(
        one.share
        for one in shown
        if (before := known.get(one.name)) is not None
        and before.direction == one.direction
        and _within(one.departure, before.departure, further)
    )


def _within(departure: float | None, before: float | None, further: float) -> bool:
    return departure is None or before is None or departure <= further * before


def _strongest(channels: Sequence[Part]) -> Mapping[Name, Part]:
    """The largest shares that together reach `_EXPLAINED`."""
    found, explained = dict[Name, Part](), 0.0
    for one in channels:
        if explained >= _EXPLAINED:
            break
        found[one.name] = one
        explained += one.share
    return found


def _channels(connection: sqlite3.Connection, episode_id: int) -> list[Part]:
    rows = connection.execute("SELECT * FROM attributions WHERE episode_id = ? ORDER BY rank", (episode_id,))
    return [Part(_main(row), row["share"], row["direction"], _departure(row)) for row in rows]


def _departure(row: sqlite3.Row) -> float | None:
    if row["expected"] is None or row["actual"] is None:
        return None
    return abs(float(row["actual"]) - float(row["expected"]))


def _main(row: sqlite3.Row) -> Name:
    return row["subsystem"], row["device"], row["metric"]
