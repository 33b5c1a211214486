"""The channels that a host has been seen with: rows of `channels`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import pyarrow as pa

from hostsight.channel import Channel
from hostsight.text import encodable
from ingest.lake import CHANNELS

_SEEN = """
INSERT INTO channels VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (channel_id) DO UPDATE SET kind = excluded.kind, unit = excluded.unit,
  period_seconds = excluded.period_seconds, source = excluded.source,
  first_seen_ns = min(first_seen_ns, excluded.first_seen_ns),
  last_seen_ns = max(last_seen_ns, excluded.last_seen_ns)
"""


def channels_seen(
    connection: sqlite3.Connection, channels: Iterable[Channel], first_ns: int, last_ns: int
) -> None:
    """Note that these channels gave windows within (first_ns, last_ns]."""
    connection.executemany(_SEEN, [(*_row(channel), first_ns, last_ns) for channel in channels])


def _row(channel: Channel) -> tuple[object, ...]:
    return (
        channel.id,
        encodable(channel.host),
        channel.subsystem,
        encodable(channel.device),
        encodable(channel.metric),
        channel.kind,
        channel.unit,
        channel.period_seconds,
        encodable(channel.source),
    )


def channel_table(connection: sqlite3.Connection, host: str) -> pa.Table:
    """The host's rows as CHANNELS, for the lake."""
    rows = connection.execute(
        "SELECT *, first_seen_ns AS first_seen, last_seen_ns AS last_seen FROM channels WHERE host = ?",
        (host,),
    ).fetchall()
    columns = {field.name: pa.array([row[field.name] for row in rows], field.type) for field in CHANNELS}
    return pa.table(columns, schema=CHANNELS)


def known_channels(connection: sqlite3.Connection, host: str) -> dict[int, Channel]:
    """By id, all that the host was ever seen with."""
    rows = connection.execute("SELECT * FROM channels WHERE host = ?", (host,))
    return {
        row["channel_id"]: Channel(
            host=row["host"],
            subsystem=row["subsystem"],
            device=row["device"],
            metric=row["metric"],
            kind=row["kind"],
            unit=row["unit"],
            period_seconds=row["period_seconds"],
            source=row["source"],
        )
        for row in rows
    }
