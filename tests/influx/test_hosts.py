"""Which hosts a bucket has, where clocks differ."""

from __future__ import annotations

import time

import pytest

from hostsight.clock import SECOND_NS
from hostsight.settings import InfluxSettings
from ingest.influx.client import InfluxClient
from ingest.influx.hosts import first_stamp, read_progress
from tests.influx.conftest import new_bucket


@pytest.fixture(params=["v2", "v1"])
def bucket(request: pytest.FixtureRequest) -> InfluxSettings:
    return new_bucket(request.getfixturevalue(request.param))


def test_hosts_whose_clock_is_ahead_of_the_servers_are_seen(bucket: InfluxSettings) -> None:
    ahead_s = int(time.time()) + 3600
    with InfluxClient(bucket) as client:
        client.write(
            f"hostsight_progress,host=a until={ahead_s} {ahead_s * SECOND_NS}\n"
            f"hostsight_ticks,host=a dt=0.1 {ahead_s * SECOND_NS + 7}\n".encode()
        )
        assert read_progress(client, 0) == {"a": ahead_s * SECOND_NS}
        assert first_stamp(client, "a") == ahead_s * SECOND_NS + 7


def test_nothing_is_found_after_the_servers_own_time(bucket: InfluxSettings) -> None:
    with InfluxClient(bucket) as client:
        client.write(b"hostsight_ticks,host=a dt=0.1 1700000000000000000\n")
        assert first_stamp(client, "a", time.time_ns() + 60 * SECOND_NS) is None
