from __future__ import annotations

import sqlite3

import pyarrow as pa

from hostsight.clock import SECOND_NS, FakeClock
from hostsight.folders import DataFolder
from hostsight.settings import Duration, RetentionSettings
from hostsight.timerange import TimeRange
from ingest.lake import Lake
from ingest.store import SAMPLES
from jobs.catalogue import channels_seen
from jobs.housekeeping import retain_lake
from tests.unit.jobs.conftest import channel

YEAR = 365 * 86_400


def episode(state: sqlite3.Connection, number: int, last_seen_ns: int) -> None:
    state.execute("INSERT OR IGNORE INTO models VALUES ('m1', 'h1', 'live', 1, 2, 3, 100, 2, 2, 'first')")
    state.execute(
        "INSERT INTO episodes (id, host, state, opened_ns, last_seen_ns, closed_ns, severity, score, confidence,"
        " subsystem, device, metric, summary, model, visible_ns) VALUES (?1, 'h1', 'closed', ?2, ?2, ?2, 'warning',"
        " 9, 1, 'cpu', 'host', 'busy_percent', 'busy', 'm1', ?2)",
        (number, last_seen_ns),
    )


def sample(data: DataFolder, ts_ns: int) -> None:
    row = {"ts": pa.array([ts_ns]).cast(pa.timestamp("ns")), "channel_id": [7], "value": [1.0], "dt": [0.1]}
    Lake(data).write("samples", "h1", TimeRange(ts_ns, ts_ns + SECOND_NS), pa.table(row).cast(SAMPLES))


def episodes(state: sqlite3.Connection) -> list[int]:
    return [row["id"] for row in state.execute("SELECT id FROM episodes ORDER BY id")]


def test_old_closed_episodes_go(data: DataFolder, state: sqlite3.Connection, clock: FakeClock) -> None:
    sample(data, clock.wall_ns())
    episode(state, 1, clock.wall_ns() - YEAR * SECOND_NS)
    episode(state, 2, clock.wall_ns() - 60 * SECOND_NS)

    retain_lake(RetentionSettings(), data, clock)

    assert episodes(state) == [2]


def test_channels_go_with_the_last_of_their_telemetry(
    data: DataFolder, state: sqlite3.Connection, clock: FakeClock
) -> None:
    sample(data, clock.wall_ns())
    settings = RetentionSettings(samples=Duration(3600), features=Duration(7200), scores=Duration(7200))
    for metric, hours in (("busy_percent", 1.5), ("idle_percent", 4)):
        seen_ns = clock.wall_ns() - round(hours * 3600) * SECOND_NS
        channels_seen(state, [channel(metric)], seen_ns, seen_ns)

    retain_lake(settings, data, clock)

    assert [row["metric"] for row in state.execute("SELECT metric FROM channels")] == ["busy_percent"]


def test_a_clock_set_far_forward_deletes_no_episode(
    data: DataFolder, state: sqlite3.Connection, clock: FakeClock
) -> None:
    sample(data, clock.wall_ns())
    episode(state, 1, clock.wall_ns())
    clock.step_wall(10 * YEAR)

    retain_lake(RetentionSettings(), data, clock)

    assert episodes(state) == [1]
