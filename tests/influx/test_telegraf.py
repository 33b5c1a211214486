"""A bucket that telegraf fills, on a real server: from its points to an episode."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hostsight.cadence import paced
from hostsight.channel import channel_id
from hostsight.clock import SECOND_NS, FakeClock
from hostsight.folders import DataFolder
from hostsight.settings import Duration, InfluxSettings, Settings, StoreSettings
from hostsight.timerange import TimeRange
from ingest.influx.client import InfluxClient
from jobs.progress import read_progress
from jobs.serve import run_serve
from jobs.telegraf import TelegrafStore, recognised, told_absence
from tests.influx.conftest import new_bucket
from tests.influx.server import Server
from tests.influx.telegraf import feed, lines
from tests.integration.processes import wait_for

NOW_S = int(time.time()) // 60 * 60
START_S = NOW_S - 1800
HOST = "gpu01"


def settings(influx: InfluxSettings, interval_s: int = 10) -> Settings:
    chosen = msgspec.structs.replace(influx, telegraf_interval=Duration(interval_s))
    return paced(Settings(influx=chosen, store=StoreSettings(kind="telegraf")))


def store(influx: InfluxSettings, interval_s: int = 10, now_s: int = NOW_S) -> TelegrafStore:
    return TelegrafStore(settings(influx, interval_s), FakeClock(now_s * SECOND_NS))


def span(start_s: int, end_s: int) -> TimeRange:
    return TimeRange((START_S + start_s) * SECOND_NS, (START_S + end_s) * SECOND_NS)


def values(samples: pa.Table, subsystem: str, device: str, metric: str) -> dict[int, float]:
    """Seconds after START_S -> value, rounded."""
    rows = samples.filter(pc.equal(samples["channel_id"], channel_id(HOST, subsystem, device, metric)))
    stamps = rows["ts"].cast(pa.int64()).to_pylist()
    return {
        ts // SECOND_NS - START_S: round(value, 3)
        for ts, value in zip(stamps, rows["value"].to_pylist(), strict=True)
    }


@pytest.fixture(params=["v2", "v1"])
def fed(request: pytest.FixtureRequest) -> InfluxSettings:
    """Half an hour at 20 % but for one interval; the host boots at interval 100."""
    server: Server = request.getfixturevalue(request.param)
    influx, busy = new_bucket(server), {50: 0.9}
    points = lines(HOST, START_S, 181, busy=lambda number: busy.get(number, 0.2), boot_at=100)
    feed(server, influx.bucket, points)
    return influx


def test_points_become_channels_in_hostsights_names_and_units(data: DataFolder, fed: InfluxSettings) -> None:
    samples = store(fed).export(HOST, span(490, 520))
    assert values(samples, "cpu", "host", "busy_percent") == {490: 20.0, 500: 90.0, 510: 20.0}
    assert values(samples, "cpu", "cpu1", "system_percent") == {490: 6.0, 500: 27.0, 510: 6.0}
    assert values(samples, "memory", "host", "available_bytes")[490] == float(
        pa.scalar(58e9, pa.float32()).as_py()
    )
    assert values(samples, "storage", "nvme0n1", "read_bytes_per_s") == {490: 1e7, 500: 4.5e7, 510: 1e7}
    assert values(samples, "storage", "nvme0n1", "busy_percent") == {490: 10.0, 500: 45.0, 510: 10.0}
    assert values(samples, "storage", "nvme0n1p2", "read_bytes_per_s") == {}
    assert values(samples, "storage", "/", "filesystem_used_percent")[490] == 20.0
    assert values(samples, "network", "eth0", "rx_bytes_per_s") == {490: 6e5, 500: 2.7e6, 510: 6e5}
    assert values(samples, "network", "eth0", "link_speed_bytes_per_s") == {}
    assert values(samples, "network", "host", "tcp_retransmitted_segments_per_s")[490] == 1.8
    assert values(samples, "network", "host", "tcp_listening_sockets")[490] == 1.0
    assert values(samples, "cpu", "host", "context_switches_per_s") == {490: 1000.0, 500: 4500.0, 510: 1000.0}
    assert values(samples, "cpu", "host", "load_1m")[500] == 1.8
    assert values(samples, "cpu", "host", "tasks")[490] == 687.0
    assert values(samples, "gpu", "GPU-f9ba66fc", "power_watts") == {490: 200.0, 500: 550.0, 510: 200.0}
    assert values(samples, "gpu", "GPU-f9ba66fc", "memory_used_bytes")[490] == 2.0**30
    assert values(samples, "interconnect", "GPU-f9ba66fc", "link_lanes")[490] == 16.0
    assert values(samples, "network", "mlx5_0:1", "tx_bytes_per_s") == {490: 2e8, 500: 9e8, 510: 2e8}
    assert values(samples, "memory", "host", "swapped_in_bytes_per_s")[490] == 819.2


def test_interrupts_of_a_device_are_those_of_all_cpus(data: DataFolder, fed: InfluxSettings) -> None:
    samples = store(fed).export(HOST, span(490, 510))
    device = "65537-edge virtio1-input.0"
    assert values(samples, "cpu", device, "interrupts_per_s") == {490: 280.0, 500: 1260.0}


def test_after_a_boot_rates_are_absent_once_and_gauges_are_there(
    data: DataFolder, fed: InfluxSettings
) -> None:
    samples = store(fed).export(HOST, span(980, 1030))
    assert sorted(values(samples, "cpu", "host", "context_switches_per_s")) == [980, 990, 1010, 1020]
    assert sorted(values(samples, "cpu", "host", "busy_percent")) == [980, 990, 1000, 1010, 1020]


def test_pieces_give_the_same_samples_as_the_whole(data: DataFolder, fed: InfluxSettings) -> None:
    whole = store(fed).export(HOST, span(0, 600))
    parts = [store(fed).export(HOST, span(at, at + 60)) for at in range(0, 600, 60)]
    order = [("channel_id", "ascending"), ("ts", "ascending")]
    assert pa.concat_tables(parts).sort_by(order).equals(whole.sort_by(order).combine_chunks())


def test_the_interval_that_is_still_being_written_is_left_for_later(
    data: DataFolder, fed: InfluxSettings
) -> None:
    found = store(fed, now_s=NOW_S + 5).span(HOST)
    assert found == span(0, 1790)


def test_when_telegraf_falls_silent_its_last_interval_is_taken_too(
    data: DataFolder, fed: InfluxSettings
) -> None:
    found = store(fed, now_s=NOW_S + 60).span(HOST)
    assert found == span(0, 1810)


def test_another_interval_than_the_settings_say_is_told(
    data: DataFolder, v2: Server, influx: InfluxSettings
) -> None:
    feed(v2, influx.bucket, lines(HOST, START_S, 30, interval_s=60))
    one = store(influx)
    one.export(HOST, span(0, 1800))
    assert one.problems == ("telegraf on gpu01 writes every 1m; set [influx] telegraf_interval = '1m'",)


def test_a_bucket_of_telegraf_is_recognised(fed: InfluxSettings) -> None:
    found = recognised(Settings(influx=fed, store=StoreSettings(kind="influx")))
    assert found.store.kind == "telegraf"
    assert found.window.length == Duration(30)


def test_a_bucket_is_recognised_once_the_server_answers(
    own_server: Server, data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.bucket.ASK_SECONDS", 0.1)
    influx = new_bucket(own_server)
    feed(own_server, influx.bucket, lines(HOST, START_S, 180))
    own_server.stop()
    stop, given = threading.Event(), Settings(influx=influx, store=StoreSettings(kind="influx"))
    with ThreadPoolExecutor(1) as pool:
        served = pool.submit(run_serve, given, data, stop=stop)
        try:
            wait_for(lambda: bool((report := read_progress(data)) and report.error), "a complaint")
            own_server.start()
            wait_for(lambda: windows_done(data) > 3, "windows")
        finally:
            stop.set()
        served.result()

    report = read_progress(data)
    assert report is not None
    assert (report.store, report.hosts[0].host, report.error) == ("telegraf", HOST, None)


def windows_done(data: DataFolder) -> int:
    report = read_progress(data)
    return sum(host.windows for host in report.hosts) if report else 0


@pytest.mark.parametrize("measurement", ["disk", "diskio", "net", "netstat", "processes", "infiniband"])
def test_a_host_with_one_measurement_is_found(v2: Server, influx: InfluxSettings, measurement: str) -> None:
    points = [one for one in lines(HOST, START_S, 180) if one.startswith(f"{measurement},")]
    feed(v2, influx.bucket, iter(points))
    assert store(influx).span(HOST) == span(0, 1780)
    assert recognised(Settings(influx=influx, store=StoreSettings(kind="influx"))).store.kind == "telegraf"


def test_a_host_whose_clock_is_ahead_of_the_servers_is_found(v2: Server, influx: InfluxSettings) -> None:
    feed(v2, influx.bucket, lines(HOST, NOW_S + 3600, 30))
    assert store(influx, now_s=NOW_S + 7200).span(HOST) == span(5400, 5700)


def test_an_empty_bucket_is_not_telegrafs(influx: InfluxSettings) -> None:
    given = Settings(influx=influx, store=StoreSettings(kind="influx"))
    assert recognised(given) == given


def test_a_bucket_of_hostsights_own_agents_is_told_until_telegraf_writes_to_it(
    v2: Server, influx: InfluxSettings
) -> None:
    now_ns = NOW_S * SECOND_NS
    with InfluxClient(influx) as client:
        client.write(f"hostsight_progress,host=gpu02 until={NOW_S} {now_ns}\n".encode())
    one = store(influx)
    assert one.hosts() == []
    assert one.problems == (
        f"bucket '{influx.bucket}' holds telemetry of hostsight's own agents, and none of telegraf;"
        " use --store influx, or name telegraf's bucket as [influx] bucket",
    )
    assert told_absence(settings(influx)) == one.problems[0]
    assert told_absence(Settings(influx=influx, store=StoreSettings(kind="influx"))) is None
    feed(v2, influx.bucket, lines(HOST, START_S, 30))
    later = store(influx)
    assert later.hosts() == [HOST]
    assert later.problems == ()
    assert told_absence(settings(influx)) is None


def test_an_empty_bucket_is_told_to_have_no_points_yet(influx: InfluxSettings) -> None:
    one = store(influx)
    one.hosts()
    assert [problem.partition(";")[0] for problem in one.problems] == [
        f"bucket '{influx.bucket}' has no points of telegraf yet"
    ]


def command(data: DataFolder, influx: InfluxSettings, *words: str) -> str:
    environment = os.environ | {
        "HOSTSIGHT_DATA": str(data.root),
        "HOSTSIGHT_INFLUX_URL": influx.url,
        "HOSTSIGHT_INFLUX_TOKEN": influx.token.reveal(),
        "HOSTSIGHT_INFLUX_BUCKET": influx.bucket,
    }
    run = [sys.executable, "-m", "cli.main", *words]
    folder = Path(__file__).resolve().parents[2]
    done = subprocess.run(run, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_import_finds_the_host_that_went_wrong_and_serve_goes_on_from_there(
    data: DataFolder, v2: Server, influx: InfluxSettings
) -> None:
    start_s, noise = NOW_S - 2 * 3600, random.Random(1)
    for host, level in (("calm", 0.2), ("sick", 0.95)):

        def busy(number: int, level: float = level) -> float:
            return level if 600 <= number < 630 else 0.2 + 0.05 * noise.random()

        feed(v2, influx.bucket, lines(host, start_s, 721, busy=busy))
    rows = json.loads(command(data, influx, "import", "influx", "--json"))
    assert [(row["host"], row["windows"] > 700, row["episodes"]) for row in rows] == [
        ("calm", True, 0),
        ("sick", True, 1),
    ]
    (episode,) = json.loads(command(data, influx, "anomalies", "--since", "3h", "--json"))
    assert (episode["host"], episode["state"]) == ("sick", "closed")
    opened = command(
        data, influx, "sql", "--format", "csv", "SELECT epoch(opened)::BIGINT AS s FROM episodes"
    )
    assert 0 <= int(opened.split()[1]) - (start_s + 6000) <= 120
    newest = "SELECT max(epoch(window_end))::BIGINT AS s FROM features JOIN channels USING (channel_id) WHERE host = 'calm'"
    before = command(data, influx, "sql", "--format", "csv", newest)
    feed(v2, influx.bucket, lines("calm", NOW_S + 10, 6))
    command(data, influx, "serve", "--store", "influx", "--for", "4s")
    after = command(data, influx, "sql", "--format", "csv", newest)
    assert int(after.split()[1]) > int(before.split()[1])
