"""What the channels of a host are, kept in InfluxDB beside its samples: kind, unit, native period and source.

A point of `hostsight_channels` a host and subsystem, with its text in as few string fields as their limit of 64 kB allows:
a handful of series a host, not one a channel. It is written again whenever the layout changes and in every hour of
telemetry, so that any hour can be read by itself. The text is a JSON list with an entry for channels that differ in their
device alone: `[metric, kind, unit, period_seconds, source, [device, ...]]`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import cast

import msgspec

from hostsight.channel import SUBSYSTEMS, Channel, Kind, Subsystem
from hostsight.timerange import TimeRange
from ingest.influx.client import InfluxClient
from ingest.influx.names import CHANNELS, flux_string, flux_time, line_text, quote_name, string_field

_PART = 30_000
"""Characters a field; with every one of them escaped that is still below the limit."""

_Group = tuple[str, Kind, str, float, str, list[str]]


def channel_lines(host: str, channels: Sequence[Channel], ts_ns: int) -> bytes:
    """Line protocol that announces the layout from `ts_ns` on."""
    ordered = sorted(channels, key=_subsystem)
    return b"".join(
        _line(host, subsystem, list(members), ts_ns) for subsystem, members in groupby(ordered, _subsystem)
    )


def read_channels(client: InfluxClient, host: str, span: TimeRange) -> list[Channel]:
    """All that were announced within `span`, oldest first. Raises as `InfluxClient.rows` does."""
    flux = (
        f"from(bucket: {flux_string(client.settings.bucket)})"
        f" |> range(start: {flux_time(span.start_ns)}, stop: {flux_time(span.end_ns)})"
        f" |> filter(fn: (r) => r._measurement == {flux_string(CHANNELS)} and r.host == {flux_string(quote_name(host))})"
        ' |> drop(columns: ["_start", "_stop", "host", "_measurement"])'
        ' |> pivot(rowKey: ["_time"], columnKey: ["_field"], valueColumn: "_value")'
    )
    rows = sorted(client.rows(flux), key=lambda row: row["_time"])
    return [channel for row in rows for channel in _channels(host, row)]


def _line(host: str, subsystem: Subsystem, channels: Sequence[Channel], ts_ns: int) -> bytes:
    text = json.dumps(_groups(channels), separators=(",", ":"))
    parts = [text[at : at + _PART] for at in range(0, len(text), _PART)]
    fields = ",".join(f"part{number}={string_field(part)}" for number, part in enumerate(parts))
    head = f"{CHANNELS},host={line_text(host)},subsystem={line_text(subsystem)}"
    return f"{head} {fields} {ts_ns}\n".encode("ascii" if head.isascii() else "utf-8")


def _groups(channels: Iterable[Channel]) -> list[_Group]:
    devices: dict[tuple[str, Kind, str, float, str], list[str]] = {}
    for one in channels:
        key = (one.metric, one.kind, one.unit, one.period_seconds, one.source)
        devices.setdefault(key, []).append(one.device)
    return [(*key, names) for key, names in devices.items()]


def _channels(host: str, row: Mapping[str, str]) -> Iterator[Channel]:
    """Those of one announcement; one that cannot be read announces nothing."""
    text = "".join(row.get(f"part{number}", "") for number in range(len(row)))
    try:
        groups = msgspec.convert(json.loads(text), list[_Group])
    except (ValueError, msgspec.ValidationError):
        return
    subsystem = row["subsystem"]
    if subsystem not in SUBSYSTEMS:
        return
    for metric, kind, unit, period, source, devices in groups:
        for device in devices:
            yield Channel(host, cast(Subsystem, subsystem), device, metric, kind, unit, period, source)


def _subsystem(channel: Channel) -> Subsystem:
    return channel.subsystem
