"""Points that arrive late: within `lateness` they are waited for, later ones are taken in by a re-export."""

from __future__ import annotations

import sqlite3

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hostsight.clock import SECOND_NS, FakeClock, SystemClock
from hostsight.errors import LockedError
from hostsight.files import locked
from hostsight.folders import DataFolder
from hostsight.settings import Duration, InfluxSettings, Settings, StoreSettings
from hostsight.timerange import TimeRange
from ingest.influx.client import InfluxClient
from ingest.influx.lines import LineFormat
from ingest.influx.store import InfluxStore
from ingest.lake import Lake
from ingest.segment import Ticks
from jobs.materialise import Materialiser
from jobs.reexport import run_reexport
from tests.influx.server import Server
from tests.influx.telemetry import HOST, NOW_NS, channels, collected, drain_all, make_drain, numbers, spool


def materialise(settings: Settings, data: DataFolder, state: sqlite3.Connection) -> None:
    store = InfluxStore(settings, SystemClock())
    pipeline = Materialiser(settings, data, store, state)
    while pipeline.run(SystemClock().wall_ns()):
        pass
    pipeline.close()
    store.close()


def lake(data: DataFolder, span: TimeRange, kind: str = "samples") -> pa.Table:
    return Lake(data).read(kind, HOST, span)  # type: ignore[arg-type]  # a literal at each call


def changed(settings: Settings, data: DataFolder, span: TimeRange) -> int:
    return sum(hour.changed for hour in run_reexport(settings, data, span))


def test_late_points_come_into_the_lake_by_a_reexport_with_their_features(
    influx: InfluxSettings, data: DataFolder, state: sqlite3.Connection
) -> None:
    settings = Settings(influx=influx, store=StoreSettings(kind="influx"))
    layout = channels(8)
    values = numbers(300, 8)
    span = spool(data, values, layout)
    with InfluxClient(influx) as client:
        drain_all(make_drain(influx, data, state), client)
        materialise(settings, data, state)
        before = lake(data, span, "features")
        assert changed(settings, data, span) == 0
        late = span.start_ns + 10 * SECOND_NS + 55_000_000
        ticks = Ticks(np.array([late]), np.array([0.1], np.float32), np.array([[5000, 6000]], np.float32))
        client.write(LineFormat(HOST, layout[:2]).format(ticks).text)
    assert changed(settings, data, TimeRange(late - SECOND_NS, late + SECOND_NS)) == 2
    after = lake(data, span)
    assert after.num_rows == collected(settings, data, span).num_rows + 2
    rows = after.filter(pc.equal(after["ts"], pa.scalar(late, pa.timestamp("ns"))))
    assert sorted(rows["value"].to_pylist()) == [5000.0, 6000.0]
    features = lake(data, span, "features")
    assert features.num_rows == before.num_rows
    assert max(features["max"].to_pylist()) == 6000.0
    assert sum(value == 6000.0 for value in features["max"].to_pylist()) == 3
    assert changed(settings, data, span) == 0


def test_nothing_is_exported_before_lateness_is_over(
    v2: Server, influx: InfluxSettings, data: DataFolder, state: sqlite3.Connection
) -> None:
    span = spool(data, numbers(100, 4), channels(4))
    with InfluxClient(influx) as client:
        drain_all(make_drain(influx, data, state), client)
    patient = Settings(influx=v2.settings(influx.bucket, lateness=Duration(2)))
    store = InfluxStore(patient, FakeClock(span.end_ns + 1_500_000_000))
    found = store.span(HOST)
    assert found is not None
    assert found.end_ns == span.end_ns - SECOND_NS
    store.close()


def test_a_reexport_does_not_run_beside_the_jobs(data: DataFolder) -> None:
    with locked(data.run / "serve.lock", "a pipeline"), pytest.raises(LockedError, match="already running"):
        next(run_reexport(Settings(), data, TimeRange(0, NOW_NS)))
