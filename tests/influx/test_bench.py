"""`bench influx` against a real server, in miniature."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest

from bench.influx import bench_influx
from hostsight.settings import InfluxSettings, Settings
from tests.influx.server import TOKEN, Server

TURNS = 2


@pytest.fixture(autouse=True)
def few_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.influx.EXPORT_TURNS", TURNS)


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
    assert results["export_values"] == TURNS * 300 * 10 * 50
    assert results["write_ratio_to_ceiling"] == pytest.approx(
        results["write_values_per_s"] / results["write_ceiling_values_per_s"]
    )
    assert ("export_client_absent" in results) != ("export_client_values_per_s" in results)
    assert buckets(v2) == before


@pytest.mark.filterwarnings("ignore::influxdb_client.client.warnings.MissingPivotFunction")
def test_it_measures_1_8_too_and_leaves_no_database_there(v1: Server) -> None:
    def databases() -> bytes:
        return v1.post("/query?q=SHOW%20DATABASES", b"")

    before = databases()
    found: dict[str, Any] = bench_influx(Settings(), channels=20, seconds=150, url=v1.url)
    assert found["results"]["export_values"] == TURNS * 150 * 10 * 20
    assert databases() == before
