"""A recording brought into the lake, where `sql`, the console and `refit` find it beside live telemetry."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from hostsight.clock import SECOND_NS, SystemClock
from hostsight.errors import UsageError
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from hostsight.timerange import TimeRange
from ingest.lake import HOUR_NS, Lake
from ingest.naming import Naming
from ingest.recording import Recording, RecordingStore
from jobs.catalogue import channel_table, channels_seen
from jobs.schedule import MATERIALISE
from jobs.watermarks import advance
from jobs.windows import WindowStream
from migrations.transaction import transaction


@dataclass(frozen=True, slots=True)
class Imported:
    """What is in the lake now that was not before; windows: 0 where rows are further apart than a window is long."""

    host: str
    channels: int
    samples: int
    windows: int
    span: TimeRange


def import_recording(
    recording: Recording, naming: Naming, settings: Settings, data: DataFolder, connection: sqlite3.Connection
) -> Imported:
    """Samples, channels and, where rows are close enough, features. Raises UsageError where the host has telemetry then."""
    period_ns = recording.period_ns
    channels = naming.channels(recording.names, period_ns / SECOND_NS)
    store, lake = RecordingStore(recording, channels), Lake(data)
    span = _whole_seconds(store.span(naming.host))
    taken = lake.files("samples", host=naming.host, span=span)
    if taken:
        raise UsageError(
            f"{naming.host} has telemetry in the lake from that time already; give the recording another host with --host"
        )
    stream = WindowStream(naming.host, store, settings.window)
    samples = windows = 0
    for start_ns in range(span.start_ns - span.start_ns % HOUR_NS, span.end_ns, HOUR_NS):
        part = TimeRange(max(start_ns, span.start_ns), min(start_ns + HOUR_NS, span.end_ns))
        increment = stream.advance(part)
        lake.write("samples", naming.host, part, increment.samples)
        if period_ns <= settings.window.length.ns:
            lake.write("features", naming.host, part, increment.features)
            windows += len(increment.ends)
        samples += increment.samples.num_rows
    known = stream.channels
    stream.close()
    with transaction(connection):
        channels_seen(connection, known, span.start_ns, span.end_ns)
        lake.write_channels(channel_table(connection, naming.host))
        advance(connection, MATERIALISE, naming.host, span.end_ns, SystemClock().wall_ns())
    return Imported(naming.host, len(channels), samples, windows, span)


def _whole_seconds(span: TimeRange) -> TimeRange:
    start_ns = span.start_ns - span.start_ns % SECOND_NS
    return TimeRange(start_ns, -(-span.end_ns // SECOND_NS) * SECOND_NS)
