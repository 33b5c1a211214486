"""Backlogs and fleets, at sizes that CI can bear.

The hour of backlog has one tick a second and 100 channels (a tenth of a real one's ticks, a seventh of its channels); the
hour of ten hosts has 700 channels each and a tick a minute.
"""

from __future__ import annotations

import sqlite3

import psutil
import pyarrow as pa
import pytest

from hostsight.clock import SystemClock
from hostsight.folders import DataFolder
from hostsight.settings import InfluxSettings, Settings
from hostsight.timerange import TimeRange
from ingest.influx.client import InfluxClient
from ingest.influx.store import InfluxStore
from migrations import open_state
from tests.influx.telemetry import (
    NOW_NS,
    channels,
    collected,
    drain_all,
    exported,
    make_drain,
    numbers,
    spool,
)

MEBIBYTE = 2**20


def test_an_hour_of_backlog_is_drained_with_flat_memory(
    influx: InfluxSettings, data: DataFolder, state: sqlite3.Connection
) -> None:
    span = spool(data, numbers(3600, 100), channels(100), ticks_per_second=1)
    drain, process, rss = make_drain(influx, data, state), psutil.Process(), list[int]()
    with InfluxClient(influx) as client:
        while drain.step(client):
            rss.append(process.memory_info().rss)
    assert len(rss) >= 60
    assert max(rss[10:]) - max(rss[:10]) < 16 * MEBIBYTE
    (host,) = drain.hosts()
    assert host.waiting_segments == 1
    assert host.until_ns == span.end_ns
    last = TimeRange(span.end_ns - 60 * 10**9, span.end_ns)
    settings = Settings(influx=influx)
    assert exported(settings, last).equals(collected(settings, data, last))


@pytest.mark.timeout(300)
def test_an_hour_of_ten_hosts_in_one_bucket_comes_back_host_by_host(
    influx: InfluxSettings, data: DataFolder
) -> None:
    settings, hosts = Settings(influx=influx), [f"gpu{number:02d}" for number in range(10)]
    sent: dict[str, pa.Table] = {}
    for number, host in enumerate(hosts):
        own = DataFolder(data.root / host).create()
        start_ns = NOW_NS - 3660 * 10**9
        values, layout = numbers(60, 700, seed=number), channels(700, host)
        for minute in range(60):
            spool(
                own,
                values[minute : minute + 1],
                layout,
                ticks_per_second=1,
                start_ns=start_ns + minute * 60 * 10**9,
            )
        sent[host] = collected(settings, own, TimeRange(start_ns, NOW_NS), host)
        state = open_state(own.state_db)
        with InfluxClient(influx) as client:
            drain_all(make_drain(influx, own, state), client)
        state.close()
    store = InfluxStore(settings, SystemClock())
    assert store.hosts() == hosts
    for host in hosts:
        span = store.span(host)
        assert span is not None
        assert span.seconds == 3541
        back = store.export(host, span)
        assert back.num_rows > 37_000
        assert back.equals(sent[host])
        assert len(store.channels(host)) == 700
    store.close()
