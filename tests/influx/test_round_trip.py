"""What goes through InfluxDB comes back as it was."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import numpy as np
import pytest

from hostsight.channel import Channel
from hostsight.clock import SECOND_NS, SystemClock
from hostsight.folders import DataFolder
from hostsight.settings import InfluxSettings, Settings
from hostsight.timerange import TimeRange
from ingest.influx.client import InfluxClient
from ingest.influx.store import InfluxStore
from tests.influx.conftest import new_bucket
from tests.influx.server import Server
from tests.influx.telemetry import (
    HOST,
    NOW_NS,
    channels,
    collected,
    drain_all,
    exported,
    make_drain,
    numbers,
    spool,
)

HOSTILE = (
    "with space", "comma,comma", "equals=sign", 'quo"te"s', "back\\slash", "ends in\\", "line\nfeed\ttab\0nul",
    "ünïcödé 漢字 🦀", "not-utf8-\udcff\udc80", "50%", "%20", "", "_measurement", "time", "${1+1}", "'; DROP", "#", "{",
)  # fmt: skip


@pytest.fixture(params=["v2", "v1", "compressed"])
def any_influx(request: pytest.FixtureRequest) -> InfluxSettings:
    """A bucket of each kind of server, and one to which requests and answers go compressed."""
    version = request.param if request.param != "compressed" else "v2"
    server: Server = request.getfixturevalue(version)
    return new_bucket(server, compression="gzip" if request.param == "compressed" else "auto")


def test_every_float32_comes_back_to_the_bit_and_every_stamp_to_the_nanosecond(
    any_influx: InfluxSettings, data: DataFolder, state: sqlite3.Connection
) -> None:
    bits = np.random.default_rng(1).integers(0, 2**32, (200, 100), np.uint32)
    special = [
        0.0,
        -0.0,
        1e-45,
        -1e-45,
        1.1754942e-38,
        1.17549435e-38,
        3.4028235e38,
        16777216,
        16777217,
        0.1,
        1 / 3,
    ]
    values = bits.view(np.float32)
    values[: len(special), 0] = special
    settings = Settings(influx=any_influx)
    span = spool(data, values, channels(100))
    with InfluxClient(any_influx) as client:
        drain_all(make_drain(any_influx, data, state), client)
    back, sent = exported(settings, span), collected(settings, data, span)
    assert back.num_rows == np.isfinite(values).sum() > 19_000
    assert back["value"].to_numpy().tobytes() == sent["value"].to_numpy().tobytes()
    assert back.equals(sent)


def test_hostile_names_come_back_as_they_were(
    any_influx: InfluxSettings, data: DataFolder, state: sqlite3.Connection
) -> None:
    host = 'h ,="\\\n% é'
    layout = tuple(
        Channel(host, "network", device, metric, "gauge", 'u"n,i\\t', 0.1, "/proc/x y")
        for device in HOSTILE
        for metric in HOSTILE
    )
    span = spool(data, numbers(10, len(layout)), layout)
    settings = Settings(influx=any_influx)
    with InfluxClient(any_influx) as client:
        drain_all(make_drain(any_influx, data, state), client)
    store = InfluxStore(settings, SystemClock())
    assert store.hosts() == [host]
    assert store.export(host, span).equals(collected(settings, data, span, host))
    assert set(store.channels(host)) == set(layout)
    store.close()


def test_the_channels_of_a_large_host_come_back_with_unit_kind_period_and_source(
    settings: Settings, data: DataFolder, state: sqlite3.Connection
) -> None:
    layout = tuple(
        Channel(HOST, "storage", f"nvme{disk}n1", f"metric_{index}_of_a_long_name", "event", "1", 10.0, f"/sys/block/nvme{disk}n1/stat")
        for disk in range(64)
        for index in range(30)
    )  # fmt: skip
    span = spool(data, numbers(2, len(layout)), layout, ticks_per_second=1)
    with InfluxClient(settings.influx) as client:
        drain_all(make_drain(settings.influx, data, state), client)
    store = InfluxStore(settings, SystemClock())
    store.export(HOST, span)
    assert set(store.channels(HOST)) == set(layout)
    store.close()


def test_a_long_range_is_exported_in_pieces_that_make_the_same_whole(
    settings: Settings, data: DataFolder, state: sqlite3.Connection
) -> None:
    span = spool(data, numbers(150, 8), [*channels(4), *_agent(4)], ticks_per_second=1)
    with InfluxClient(settings.influx) as client:
        drain_all(make_drain(settings.influx, data, state), client)
    whole = exported(settings, TimeRange(span.start_ns - 2 * 3600 * SECOND_NS, span.end_ns))
    assert whole.equals(collected(settings, data, span))


def test_the_seconds_of_a_host_run_from_its_first_tick_to_what_its_drain_has_sent(
    any_influx: InfluxSettings, data: DataFolder, state: sqlite3.Connection
) -> None:
    span = spool(data, numbers(50, 10), channels(10))
    with InfluxClient(any_influx) as client:
        drain_all(make_drain(any_influx, data, state), client)
    store = InfluxStore(Settings(influx=any_influx), SystemClock())
    assert store.span("another") is None
    assert store.span(HOST) == span
    store.close()


def test_a_long_silence_costs_one_question(
    settings: Settings, data: DataFolder, state: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = spool(data, numbers(20, 10), channels(10), start_ns=NOW_NS - 7200 * SECOND_NS)
    last = spool(data, numbers(20, 10, seed=1), channels(10))
    with InfluxClient(settings.influx) as client:
        drain_all(make_drain(settings.influx, data, state), client)
    store = InfluxStore(settings, SystemClock())
    assert store.hosts() == [HOST]
    minutes = [
        TimeRange(ns, ns + 60 * SECOND_NS)
        for ns in range(first.end_ns, last.start_ns - 60 * SECOND_NS, 60 * SECOND_NS)
    ]
    asked, query = list[str](), InfluxClient.query

    def counted(self: InfluxClient, flux: str) -> Iterator[bytes]:
        asked.append(flux)
        return query(self, flux)

    monkeypatch.setattr(InfluxClient, "query", counted)
    assert sum(store.export(HOST, minute).num_rows for minute in minutes) == 0
    assert len(minutes) > 100
    assert len(asked) == 3
    assert store.export(HOST, last).num_rows > 100
    store.close()


def _agent(count: int) -> list[Channel]:
    return [Channel(HOST, "agent", "host", f"m{index}", "gauge", "1", 0.1, "agent") for index in range(count)]


def test_a_range_holds_its_first_nanosecond_and_not_its_last(
    influx: InfluxSettings, data: DataFolder
) -> None:
    start_ns = 1_900_000_000 * SECOND_NS
    lines = "".join(f"cpu,device=cpu0,host=h m={n} {start_ns + n}\n" for n in range(4))
    with InfluxClient(influx) as client:
        client.write(lines.encode())
    table = exported(Settings(influx=influx), TimeRange(start_ns + 1, start_ns + 3), "h")
    assert table["value"].to_pylist() == [1.0, 2.0]
    assert table["ts"].cast("int64").to_pylist() == [start_ns + 1, start_ns + 2]


def test_what_nobody_announced_is_known_by_its_name(influx: InfluxSettings, data: DataFolder) -> None:
    start_ns = 1_900_000_000 * SECOND_NS
    lines = "".join(
        f"network,device=eth0,host=h rx_bytes_per_s=5 {start_ns + n * SECOND_NS}\n" for n in range(3)
    )
    with InfluxClient(influx) as client:
        client.write(lines.encode())
    store = InfluxStore(Settings(influx=influx), SystemClock())
    table = store.export("h", TimeRange(start_ns, start_ns + 3 * SECOND_NS))
    (channel,) = store.channels("h")
    assert (channel.unit, channel.kind) == ("B/s", "rate")
    assert table["dt"].to_pylist() == [1.0, 1.0, 1.0]
    store.close()
