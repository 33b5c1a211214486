"""From ticks to the spool, also when it cannot be written."""

from __future__ import annotations

import numpy as np
import pytest

from hostsight.channel import Channel
from hostsight.clock import SECOND_NS
from hostsight.errors import FullError
from hostsight.folders import DataFolder
from hostsight.settings import SpoolSettings
from ingest.meter import Meter
from ingest.recorder import Recorder
from ingest.sampler import Tick
from ingest.spool import SpoolWriter

START = 1_700_000_000 * SECOND_NS
CHANNELS = (Channel("h", "cpu", "host", "busy_percent", "rate", "%", 0.01, "/proc/stat"),)


class FlakySpool(SpoolWriter):
    """Fails while `broken`; counts flushes that wrote."""

    broken = False
    flushes = 0

    def flush(self, *, partial: bool = False) -> None:
        if self.broken:
            self.lost_values += len(self._pending)
            self._pending.clear()
            raise FullError("no space left while writing x; free some")
        self.flushes += 1
        super().flush(partial=partial)


class Bench:
    """A recorder over a spool that fails on demand, and what it said."""

    def __init__(self, data: DataFolder) -> None:
        self.said: list[str] = []
        self.meter = Meter()
        self.spool = FlakySpool(data, SpoolSettings(), "h")
        self.recorder = Recorder(self.spool, self.meter, self.said.append)
        self._at = START

    def ticks(self, count: int) -> None:
        for _ in range(count):
            self.recorder.record(Tick(self._at, 0.1, np.ones(1, np.float32)), CHANNELS)
            self._at += SECOND_NS // 10


@pytest.fixture
def bench(data: DataFolder) -> Bench:
    return Bench(data)


def test_a_second_is_flushed_by_the_first_tick_after_it(bench: Bench) -> None:
    bench.ticks(10)
    before = bench.spool.flushes
    bench.ticks(1)
    assert bench.spool.flushes == before + 1
    bench.ticks(20)
    assert bench.spool.flushes == before + 3


def test_a_full_disk_is_said_once_counted_and_tried_every_second(bench: Bench) -> None:
    bench.ticks(10)
    bench.spool.broken = True
    bench.ticks(30)
    assert bench.said == [
        "no space left while writing x; free some; collection goes on, what cannot be stored is lost"
    ]
    assert bench.recorder.error == "no space left while writing x; free some"
    assert bench.meter.lost_values == 30


def test_recording_resumes_by_itself(bench: Bench) -> None:
    bench.ticks(10)
    bench.spool.broken = True
    bench.ticks(10)
    bench.spool.broken = False
    bench.ticks(20)
    assert bench.said[-1] == "telemetry is stored again"
    assert bench.recorder.error is None
    assert bench.meter.lost_values == 10


def test_closing_keeps_the_second_that_has_begun(bench: Bench, data: DataFolder) -> None:
    bench.ticks(3)
    bench.recorder.close()
    assert bench.meter.spool_bytes == sum(path.stat().st_size for path in data.spool.iterdir()) > 0
