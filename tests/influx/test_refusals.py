"""What the server will never take is set aside with its words, and holds up nothing."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

from hostsight.clock import SECOND_NS
from hostsight.folders import DataFolder
from hostsight.settings import InfluxSettings, Settings, Size
from hostsight.timerange import TimeRange
from ingest.influx.client import InfluxClient
from ingest.influx.hosts import read_progress
from ingest.influx.rejected_files import rejected_files, rejected_folder
from jobs.drain import run_drain
from jobs.drain_status import drain_problems, read_drain
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


@pytest.fixture(params=["v2", "v1"])
def any_server(request: pytest.FixtureRequest) -> Server:
    server: Server = request.getfixturevalue(request.param)
    return server


def test_a_batch_with_a_conflicting_field_is_set_aside_and_the_next_ones_are_stored(
    any_server: Server, data: DataFolder, state: sqlite3.Connection
) -> None:
    influx = new_bucket(any_server)
    span = spool(data, numbers(100, 20), channels(20))
    with InfluxClient(influx) as client:
        client.write(f"network,device=eth9,host={HOST} m3_bytes_per_s=1i {span.start_ns}\n".encode())
        drain = make_drain(influx, data, state)
        drain_all(drain, client)
    (host,) = drain.hosts()
    files = list(rejected_files(rejected_folder(data)))
    assert host.rejected_batches == len(files) == 10
    assert host.sent_values == 0
    text = files[0][0].read_text()
    assert text.startswith("# ")
    assert "field type conflict" in text.partition("\n")[0]
    assert text.count("network,device=eth0") == 10
    assert host.until_ns == span.end_ns


def test_a_batch_that_is_too_old_does_not_hold_up_one_that_is_not(
    any_server: Server, data: DataFolder, state: sqlite3.Connection
) -> None:
    influx, settings = new_bucket(any_server, retention=3600), Settings()
    old = spool(data, numbers(20, 10), channels(10), start_ns=NOW_NS - 5 * 3600 * SECOND_NS)
    new = spool(data, numbers(50, 10, seed=1), channels(10))
    drain = make_drain(influx, data, state)
    with InfluxClient(influx) as client:
        drain_all(drain, client)
    (host,) = drain.hosts()
    assert host.rejected_batches == 2
    assert host.rejected_values == collected(settings, data, old).num_rows
    both = TimeRange(old.start_ns, new.end_ns)
    assert exported(Settings(influx=influx), both).equals(collected(settings, data, new))


def test_only_what_is_refused_of_a_large_request_is_set_aside(
    influx: InfluxSettings, data: DataFolder, state: sqlite3.Connection
) -> None:
    week_ns = 7 * 86_400 * SECOND_NS  # a shard's length: the types of its fields are its own
    border_ns = NOW_NS // week_ns * week_ns + 4 * 86_400 * SECOND_NS
    border_ns -= week_ns * (border_ns > NOW_NS)  # shards begin on Mondays
    span = spool(data, numbers(100, 10), channels(10), start_ns=border_ns - 5 * SECOND_NS)
    with InfluxClient(influx) as client:
        client.write(f"network,device=eth9,host={HOST} m3_bytes_per_s=1i {border_ns}\n".encode())
        drain = make_drain(influx, data, state)
        drain_all(drain, client)
    (host,) = drain.hosts()
    assert host.rejected_batches == 5
    before = TimeRange(span.start_ns, border_ns)
    settings = Settings(influx=influx)
    assert exported(settings, before).equals(collected(settings, data, before))


def test_rejected_batches_have_a_bound(
    influx: InfluxSettings, v2: Server, data: DataFolder, state: sqlite3.Connection
) -> None:
    small = v2.settings(influx.bucket, rejected_max_bytes=Size(20_000))
    span = spool(data, numbers(200, 20), channels(20))
    with InfluxClient(small) as client:
        client.write(f"network,device=eth9,host={HOST} m3_bytes_per_s=1i {span.start_ns}\n".encode())
        drain = make_drain(small, data, state)
        drain_all(drain, client)
    files = list(rejected_files(rejected_folder(data)))
    assert drain.hosts()[0].rejected_batches == 20
    assert 10_000 < sum(size for _, size in files) <= 20_000
    assert files[-1][0].name.split("~")[0] > files[0][0].name.split("~")[0]


def test_status_says_what_was_refused_and_why(influx: InfluxSettings, data: DataFolder) -> None:
    span = spool(data, numbers(20, 10), channels(10))
    with InfluxClient(influx) as client:
        client.write(f"network,device=eth9,host={HOST} m3_bytes_per_s=1i {span.start_ns}\n".encode())
    run_drain(Settings(influx=influx), data, seconds=1.0)
    drain = read_drain(data, NOW_NS)
    assert drain is not None
    (problem,) = [line for line in drain_problems(data, drain) if "refused" in line]
    assert problem.startswith("InfluxDB refused 2 batches for good (")
    assert "field type conflict" in problem
    assert "spool/rejected" in problem


def test_infinite_values_never_reach_the_server(
    influx: InfluxSettings, data: DataFolder, state: sqlite3.Connection
) -> None:
    values = numbers(20, 10)
    values[3, 4] = np.inf
    values[5, 6] = -np.inf
    span = spool(data, values, channels(10))
    with InfluxClient(influx) as client:
        drain_all(make_drain(influx, data, state), client)
    table = exported(Settings(influx=influx), span)
    assert table.num_rows == np.isfinite(values).sum()


def test_a_bucket_with_the_shortest_retention_keeps_how_far_a_host_is(
    v2: Server, data: DataFolder, state: sqlite3.Connection
) -> None:
    influx = new_bucket(v2, retention=3600)
    span = spool(data, numbers(20, 10), channels(10))
    drain = make_drain(influx, data, state)
    with InfluxClient(influx) as client:
        drain_all(drain, client)
        assert read_progress(client, 0) == {HOST: span.end_ns}
    assert drain.problems == ()
