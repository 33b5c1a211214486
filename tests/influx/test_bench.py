"""`bench influx` against a real server, in miniature."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest

from bench.influx import EXPORT_TURNS, bench_influx
from hostsight.settings import InfluxSettings, Settings
from tests.influx.server import TOKEN, Server


def buckets(server: Server) -> set[str]:
    request = urllib.request.Request(
        f"{server.url}/api/v2/buckets?limit=100", headers={"Authorization": f"Token {TOKEN}"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return {bucket["name"] for bucket in json.load(answer)["buckets"]}


@pytest.mark.filterwarnings("ignore::influxdb_client.client.warnings.MissingPivotFunction")
def test_all_ways_are_measured_on_a_running_server_and_nothing_is_left_there(
    v2: Server, influx: InfluxSettings
) -> None:
    before = buckets(v2)
    found: dict[str, Any] = bench_influx(Settings(influx=influx), channels=50, seconds=300, url=influx.url)
    results = found["results"]
    assert results["write_values"] > 0
    assert results["export_values"] == EXPORT_TURNS * 300 * 10 * 50
    assert results["write_ratio_to_ceiling"] == pytest.approx(
        results["write_values_per_s"] / results["write_ceiling_values_per_s"]
    )
    assert ("export_client_absent" in results) != ("export_client_values_per_s" in results)
    assert buckets(v2) == before
