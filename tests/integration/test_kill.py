"""kill -9 of the agent and of the jobs, at random moments, again and again."""

from __future__ import annotations

import random
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from hostsight.clock import SECOND_NS
from hostsight.errors import StorageError
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from hostsight.timerange import TimeRange
from ingest.embedded import EmbeddedStore
from ingest.heartbeat import read_heartbeat
from ingest.lake import KINDS, Kind, Lake
from jobs.watermarks import positions
from migrations import open_state
from sql.features import FeatureBuilder
from tests.integration.processes import HOST, Process, wait_for

KILLS = 20
UNFLUSHED_NS = 3 * SECOND_NS
"""The second that is lost, and how late a busy machine may come to write the one before."""
ALL = TimeRange(0, 2**62)

pytestmark = pytest.mark.timeout(420)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[DataFolder, list[TimeRange]]]:
    """A data folder after the kills, and when each agent that was killed began and ended."""
    data = DataFolder(tmp_path_factory.mktemp("kill") / "data").create()
    chance = random.Random(11)
    processes = [
        Process(name, data, data.logs / f"{name}.log", HOSTSIGHT_DETECT_WARMUP="35s")
        for name in ("agent", "serve")
    ]
    lives: list[TimeRange] = []
    try:
        for process in processes:
            process.start()
        wait_for(lambda: live_model(data), "the first baseline")
        for _ in range(KILLS):
            victim = chance.choice(processes)
            wait_for(victim.is_working, f"a report of {victim.name}")
            threading.Event().wait(chance.uniform(0.0, 1.5))
            beat = read_heartbeat(data)
            victim.kill()
            if victim.name == "agent" and beat is not None:
                lives.append(TimeRange(beat.started_ns, time.time_ns()))
            victim.start()
        for process in processes:
            wait_for(process.is_working, f"a report of {process.name}")
        assert processes[0].stop() == 0
        wait_for(lambda: caught_up(data), "the last window")
        assert processes[1].stop() == 0
        yield data, lives
    finally:
        for process in processes:
            process.stop()


def caught_up(data: DataFolder) -> bool:
    span = EmbeddedStore(data, Settings()).span(HOST)
    connection = open_state(data.state_db, read_only=True)
    try:
        return span is not None and positions(connection, "materialise").get(HOST) == span.end_ns
    finally:
        connection.close()


def live_model(data: DataFolder) -> bool:
    if not data.state_db.exists():
        return False
    try:
        connection = open_state(data.state_db, read_only=True)
    except StorageError:  # the pipeline is about to make it
        return False
    try:
        return connection.execute("SELECT 1 FROM models WHERE state = 'live'").fetchone() is not None
    finally:
        connection.close()


def spooled(data: DataFolder) -> tuple[EmbeddedStore, pa.Table, TimeRange]:
    store = EmbeddedStore(data, Settings())
    span = store.span(HOST)
    assert span is not None
    return store, store.export(HOST, span), span


def keys(table: pa.Table, stamp: str) -> list[tuple[int, int]]:
    ids, stamps = table["channel_id"].to_pylist(), table[stamp].cast(pa.int64()).to_pylist()
    return sorted(zip(ids, stamps, strict=True))


def test_every_file_can_be_read(killed: tuple[DataFolder, list[TimeRange]]) -> None:
    data, _ = killed
    store, samples, _ = spooled(data)

    assert store.problems == ()
    assert samples.num_rows > 0
    for path in data.lake.rglob("*"):
        assert path.suffix != ".bad", path
        if path.suffix == ".parquet":
            assert pq.read_table(path).num_rows > 0
    connection = sqlite3.connect(data.state_db)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_the_lake_holds_each_sample_of_the_spool_once(killed: tuple[DataFolder, list[TimeRange]]) -> None:
    data, _ = killed
    _, samples, _ = spooled(data)

    assert Lake(data).read("samples", HOST, ALL).equals(samples)


def test_no_window_is_lost_and_none_is_there_twice(killed: tuple[DataFolder, list[TimeRange]]) -> None:
    data, _ = killed
    store, samples, span = spooled(data)
    builder = FeatureBuilder(Settings().window, store.channels(HOST))
    wanted = builder.build(samples, span).features
    builder.close()

    assert keys(Lake(data).read("features", HOST, ALL), "window_end") == keys(wanted, "window_end")


def test_scores_are_there_once(killed: tuple[DataFolder, list[TimeRange]]) -> None:
    data, _ = killed
    scores = Lake(data).read("scores", HOST, ALL)
    groups = scores.group_by(["window_end", "detector"]).aggregate([([], "count_all")])

    assert pc.max(groups["count_all"]).as_py() == 1
    assert scores.num_rows > 0


def test_the_agent_loses_at_most_its_unflushed_second(killed: tuple[DataFolder, list[TimeRange]]) -> None:
    data, lives = killed
    _, samples, _ = spooled(data)
    stamps = np.unique(samples["ts"].cast(pa.int64()).to_numpy())

    for life in lives:
        newest = int(stamps[np.searchsorted(stamps, life.end_ns) - 1])
        assert life.end_ns - max(newest, life.start_ns) < UNFLUSHED_NS


def test_what_was_killed_is_marked_as_lost(killed: tuple[DataFolder, list[TimeRange]]) -> None:
    data, lives = killed
    connection = open_state(data.state_db, read_only=True)
    states = [
        row["state"] for row in connection.execute("SELECT state FROM job_runs WHERE job = 'materialise'")
    ]
    connection.close()

    assert states.count("lost") == KILLS - len(lives)
    assert states[-1] == "ok"


def test_nothing_half_written_stays(killed: tuple[DataFolder, list[TimeRange]]) -> None:
    data, _ = killed
    kinds: tuple[Kind, ...] = KINDS
    parts: list[Path] = [path for kind in kinds for path in (data.lake / kind).rglob("*.part")]

    assert parts == []
