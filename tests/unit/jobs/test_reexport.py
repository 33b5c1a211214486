from __future__ import annotations

import sqlite3

import numpy as np

from hostsight.clock import SECOND_NS
from hostsight.folders import DataFolder
from hostsight.settings import Settings, SpoolSettings
from hostsight.timerange import TimeRange
from ingest.embedded import EmbeddedStore
from ingest.lake import Lake
from ingest.spool import SpoolWriter
from jobs.materialise import Materialiser
from jobs.reexport import run_reexport
from tests.unit.jobs.conftest import START_NS, Write, channel


def test_a_channel_that_came_later_is_not_said_to_be_as_old_as_what_is_done_again(
    data: DataFolder, state: sqlite3.Connection, write: Write
) -> None:
    write(0, 10)
    later = SpoolWriter(data, SpoolSettings(), "h1")
    later.open([channel("idle_percent")])
    later.append(START_NS + 300 * SECOND_NS, 1.0, np.array([10.0], np.float32))
    later.flush()
    later.close()
    pipeline = Materialiser(Settings(), data, EmbeddedStore(data, Settings()), state)
    while pipeline.run(START_NS + 400 * SECOND_NS):
        pass
    pipeline.close()
    first = TimeRange(START_NS, START_NS + 10 * SECOND_NS)
    for file in Lake(data).files("samples", span=first):
        file.path.unlink()

    changed = sum(hour.changed for hour in run_reexport(Settings(), data, first))

    assert changed == 10 * 10 * 3
    assert Lake(data).read("samples", "h1", first).num_rows == 300
    query = "SELECT first_seen_ns FROM channels WHERE metric = 'idle_percent'"
    assert state.execute(query).fetchone()[0] > START_NS + 200 * SECOND_NS
