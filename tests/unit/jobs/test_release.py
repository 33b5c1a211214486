"""The spool gives back what the pipeline has had."""

from __future__ import annotations

import sqlite3

from hostsight.clock import SECOND_NS
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from ingest.embedded import EmbeddedStore
from ingest.segment import list_segments
from jobs.materialise import Materialiser
from tests.unit.jobs.conftest import START_NS, Write


def test_segments_go_ten_minutes_after_the_pipeline_had_them(
    data: DataFolder, state: sqlite3.Connection, write: Write
) -> None:
    for minute in range(14):
        write(60 * minute, 60 * minute + 2)
    before = len(list_segments(data.spool))
    pipeline = Materialiser(Settings(), data, EmbeddedStore(data, Settings()), state)
    while pipeline.run(START_NS + 900 * SECOND_NS):
        pass
    pipeline.close()
    starts = [(name.start_ns - START_NS) // SECOND_NS for name in list_segments(data.spool)]
    assert before == 14
    assert starts == [60 * minute for minute in range(starts[0] // 60, 14)]
    assert 120 <= starts[0] <= 180
