"""Real processes: an agent on one host and the jobs on another, which share nothing but the server."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
import pytest

from hostsight.folders import DataFolder
from hostsight.settings import InfluxSettings, Settings
from hostsight.timerange import TimeRange
from ingest.embedded import EmbeddedStore
from ingest.influx.report import read_report
from ingest.lake import Lake
from tests.influx.conftest import new_bucket
from tests.influx.server import Server
from tests.integration.processes import HOST, Process, wait_for

ALL = TimeRange(0, 2**62)


def variables(influx: InfluxSettings) -> dict[str, str]:
    return {
        "HOSTSIGHT_STORE_KIND": "influx",
        "HOSTSIGHT_INFLUX_URL": influx.url,
        "HOSTSIGHT_INFLUX_BUCKET": influx.bucket,
        "HOSTSIGHT_INFLUX_TOKEN": influx.token.reveal(),
    }


@pytest.fixture
def server(own_server: Server) -> tuple[Server, InfluxSettings]:
    return own_server, new_bucket(own_server)


def lake_seconds(data: DataFolder) -> int:
    samples = Lake(data).read("samples", HOST, ALL)
    return len(pc.unique(pc.floor_temporal(samples["ts"], unit="second")))


def test_an_agent_and_the_jobs_of_another_host_share_only_the_server_through_its_restart(
    server: tuple[Server, InfluxSettings], tmp_path: Path
) -> None:
    influxd, influx = server
    here, there = (DataFolder(tmp_path / name).create() for name in ("here", "there"))
    agent = Process("agent", here, tmp_path / "agent.log", **variables(influx))
    serve = Process("serve", there, tmp_path / "serve.log", **variables(influx))
    agent.start()
    serve.start()
    try:
        wait_for(lambda: lake_seconds(there) >= 3, "the first samples in the lake of the other host")
        influxd.stop()
        wait_for(lambda: bool((report := read_report(here)) and report.error), "the drain's words")
        influxd.start()
        wait_for(lambda: bool((report := read_report(here)) and report.error is None), "the drain to go on")
        before = lake_seconds(there)
        wait_for(lambda: lake_seconds(there) >= before + 5, "samples from after the restart")
    finally:
        agent.stop()
        serve.stop()
    got = Lake(there).read("samples", HOST, ALL)
    span = TimeRange(pc.min(got["ts"]).value // 10**9 * 10**9, (pc.max(got["ts"]).value // 10**9 + 1) * 10**9)
    sent = EmbeddedStore(here, Settings()).export(HOST, span)
    assert got.select(["ts", "channel_id", "value"]).equals(sent.select(["ts", "channel_id", "value"]))
    report = read_report(here)
    assert report is not None
    assert report.hosts[0].until_ns >= span.end_ns
