"""InfluxQL as the faster way out of a bucket: the same samples as by Flux, on real servers."""

from __future__ import annotations

import sqlite3

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from hostsight.channel import Channel
from hostsight.clock import SystemClock
from hostsight.errors import StorageError, StoreUnavailableError
from hostsight.folders import DataFolder
from hostsight.settings import InfluxSettings, Settings
from hostsight.timerange import TimeRange
from ingest.influx.client import InfluxClient
from ingest.influx.export import TRIALS, Export, Exporter, export, export_by_influxql
from ingest.influx.influxql import Question
from ingest.influx.store import InfluxStore
from tests.influx.conftest import new_bucket
from tests.influx.server import Server
from tests.influx.telemetry import HOST, channels, drain_all, make_drain, numbers, spool
from tests.influx.test_round_trip import HOSTILE


@pytest.fixture(params=["v2", "v1", "compressed"])
def any_influx(request: pytest.FixtureRequest) -> InfluxSettings:
    version = request.param if request.param != "compressed" else "v2"
    server: Server = request.getfixturevalue(version)
    return new_bucket(server, compression="gzip" if request.param == "compressed" else "auto")


def filled(
    influx: InfluxSettings, data: DataFolder, state: sqlite3.Connection, layout: list[Channel]
) -> TimeRange:
    span = spool(data, numbers(200, len(layout)), layout)
    with InfluxClient(influx) as client:
        drain_all(make_drain(influx, data, state), client)
    return span


def test_it_gives_what_flux_gives_to_the_bit(
    any_influx: InfluxSettings, data: DataFolder, state: sqlite3.Connection
) -> None:
    span = filled(any_influx, data, state, list(channels(95)))
    with InfluxClient(any_influx) as client:
        mine, flux = export_by_influxql(client, HOST, span), export(client, HOST, span)
    assert mine.samples.num_rows > 15_000
    assert mine.samples.equals(flux.samples)
    assert mine.channels == flux.channels


def test_hostile_names_come_back_as_they_were(
    any_influx: InfluxSettings, data: DataFolder, state: sqlite3.Connection
) -> None:
    host = "h ,=\"'\\\n% é"
    layout = [Channel(host, "network", device, "a_per_s", "rate", "1/s", 0.1, "x") for device in HOSTILE]
    layout += [
        Channel(host, "cpu", "cpu0", metric, "rate", "1/s", 0.1, "x") for metric in (*HOSTILE, "name", "tags")
    ]
    span = filled(any_influx, data, state, layout)
    with InfluxClient(any_influx) as client:
        mine, flux = export_by_influxql(client, host, span), export(client, host, span)
    assert set(mine.channels.values()) == {(one.subsystem, one.device, one.metric) for one in layout}
    assert mine.samples.equals(flux.samples)


def test_a_time_without_telemetry_is_empty(influx: InfluxSettings) -> None:
    with InfluxClient(influx) as client:
        assert export_by_influxql(client, HOST, TimeRange(0, 10**9)) == Export(
            export(client, HOST, TimeRange(0, 10**9)).samples, {}
        )


def test_a_database_that_is_not_mapped_is_no_empty_answer(influx: InfluxSettings) -> None:
    unmapped = msgspec.structs.replace(influx, bucket="no such database")
    with InfluxClient(unmapped) as client, pytest.raises((StoreUnavailableError, StorageError)):
        export_by_influxql(client, HOST, TimeRange(0, 10**9))


def test_it_is_trusted_once_it_gave_the_same(
    influx: InfluxSettings, data: DataFolder, state: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    span = filled(influx, data, state, list(channels(20)))
    with InfluxClient(influx) as client:
        exporter = Exporter(client)
        first = exporter.export(HOST, span)
        monkeypatch.setattr(client, "query", lambda _: pytest.fail("asked by Flux"))
        assert exporter.export(HOST, span).samples.equals(first.samples)


def test_a_mapping_to_another_bucket_is_found_and_left_alone(
    v2: Server,
    influx: InfluxSettings,
    data: DataFolder,
    state: sqlite3.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    span = filled(influx, data, state, list(channels(20)))
    other, asked = new_bucket(v2), []

    def misled(_: str, host: str, asked_for: TimeRange) -> list[Question]:
        asked.append(asked_for)
        return list(real(other.bucket, host, asked_for))

    import ingest.influx.export as module

    real = module.questions
    monkeypatch.setattr(module, "questions", misled)
    with InfluxClient(influx) as client:
        exporter = Exporter(client)
        for _ in range(TRIALS + 2):
            assert exporter.export(HOST, span).samples.num_rows == np.isfinite(numbers(200, 20)).sum()
    assert len(asked) == TRIALS


def test_when_it_fails_later_flux_does_it(
    influx: InfluxSettings, data: DataFolder, state: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    span = filled(influx, data, state, list(channels(20)))
    with InfluxClient(influx) as client:
        exporter = Exporter(client)
        first = exporter.export(HOST, span)
        monkeypatch.setattr(client, "stream", lambda *_: iter([b"name,tags,time,a\n"]))
        assert exporter.export(HOST, span).samples.equals(first.samples)


def test_a_job_that_catches_up_finds_each_minute_fetched_once_and_none_that_is_not_complete(
    influx: InfluxSettings, data: DataFolder, state: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = spool(data, numbers(180, 20), channels(20), ticks_per_second=1)
    with InfluxClient(influx) as client:
        drain_all(make_drain(influx, data, state), client)
    asked: list[TimeRange] = []
    real = Exporter.export

    def noted(self: Exporter, host: str, span: TimeRange) -> Export:
        asked.append(span)
        return real(self, host, span)

    monkeypatch.setattr(Exporter, "export", noted)
    minutes = [TimeRange(at, at + 60 * 10**9) for at in range(whole.start_ns, whole.end_ns, 60 * 10**9)]
    store = InfluxStore(Settings(influx=influx), SystemClock())
    try:
        assert store.span(HOST) == whole
        found = [store.export(HOST, minute) for minute in minutes]
    finally:
        store.close()
    assert asked == minutes
    assert pa.concat_tables(found).num_rows == np.isfinite(numbers(180, 20)).sum()
