"""How far a host's spool has been sent to InfluxDB: a row of `drains` in the state database."""

from __future__ import annotations

import sqlite3
from dataclasses import asdict, dataclass

from hostsight.clock import SECOND_NS
from hostsight.settings import InfluxSettings


@dataclass(slots=True)
class Position:
    """Everything before `byte_offset` of segment number `segment` is in the store, complete up to `until_ns`.

    Counts are since the first start: values sent, batches and values refused for good, infinite values left out, segments
    that the spool's bound deleted unsent.
    """

    host: str
    segment: int = 0
    byte_offset: int = 0
    until_ns: int = 0
    sent_values: int = 0
    rejected_batches: int = 0
    rejected_values: int = 0
    dropped_values: int = 0
    lost_segments: int = 0


GIVEN_UP_NS = 7 * 86_400 * SECOND_NS
_GET = """
SELECT host, segment, byte_offset, until_ns, sent_values, rejected_batches, rejected_values, dropped_values, lost_segments
FROM drains WHERE target = ? AND host = ?
"""
_UNSENT = "SELECT segment FROM drains WHERE host = ? AND updated_ns > ? ORDER BY updated_ns DESC LIMIT 1"
_PUT = """
INSERT OR REPLACE INTO drains VALUES (:target, :host, :segment, :byte_offset, :until_ns, :sent_values,
  :rejected_batches, :rejected_values, :dropped_values, :lost_segments, :updated_ns)
"""


def target(settings: InfluxSettings) -> str:
    """The store's name: another server or bucket gets the spool from its start."""
    return f"{settings.url.rstrip('/')} {settings.org}/{settings.bucket}"


class Positions:
    """The rows of one target; each `put` is a transaction of its own."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self._connection = connection
        self._target = name

    def get(self, host: str) -> Position:
        row = self._connection.execute(_GET, (self._target, host)).fetchone()
        return Position(*row) if row else Position(host)

    def put(self, position: Position, now_ns: int) -> None:
        self._connection.execute(_PUT, {**asdict(position), "target": self._target, "updated_ns": now_ns})


def unsent_from(connection: sqlite3.Connection, host: str, now_ns: int) -> int | None:
    """Number of the first segment of `host` that the store it is sent to still lacks a part of.

    None where nothing is sent anywhere, or was not for a week: whoever sent it has given that up.
    """
    row = connection.execute(_UNSENT, (host, now_ns - GIVEN_UP_NS)).fetchone()
    return int(row[0]) if row else None
