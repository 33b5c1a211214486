"""Telemetry becomes windows, once and in order, whatever fails on the way."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from hostsight.clock import SECOND_NS
from hostsight.errors import CorruptError, StorageError
from hostsight.folders import DataFolder
from hostsight.settings import Duration, JobSettings, Settings, SpoolSettings
from ingest.embedded import EmbeddedStore
from ingest.lake import Lake
from ingest.spool import SpoolWriter
from jobs import materialise
from jobs.materialise import HostPipeline, Materialiser, lake_end
from jobs.schedule import MATERIALISE
from jobs.watermarks import position
from tests.unit.jobs.conftest import CHANNELS, START_NS, Write, channel
from tests.unit.jobs.materialise.conftest import Make, at, catch_up, read


def ends(data: DataFolder) -> list[int]:
    """Seconds after START_NS at which windows end, one entry a row of the first channel."""
    table = read(data)
    first = table["channel_id"][0]
    rows = table.filter(pc.equal(table["channel_id"], first))
    return [(ns - START_NS) // SECOND_NS for ns in rows["window_end"].cast(pa.int64()).to_pylist()]


def test_every_complete_second_gives_one_window(
    data: DataFolder, state: sqlite3.Connection, write: Write, make: Make
) -> None:
    write(0, 10)

    assert make().run(at(10.2)) == 10
    assert ends(data) == list(range(1, 11))
    assert position(state, MATERIALISE, "h1") == at(10)
    assert read(data, "samples").num_rows == 10 * 10 * 3


def test_running_again_changes_nothing(data: DataFolder, write: Write, make: Make) -> None:
    write(0, 5)
    one = make()
    one.run(at(5.2))
    files = sorted(data.lake.rglob("*.parquet"))

    assert one.run(at(5.4)) == 0
    assert make().run(at(5.6)) == 0
    assert sorted(data.lake.rglob("*.parquet")) == files


def test_second_by_second_and_after_restarts_the_features_are_those_of_one_go(
    data: DataFolder, write: Write, make: Make, tmp_path_factory: pytest.TempPathFactory
) -> None:
    one = make()
    for second in range(8):
        write(second, second + 1)
        if second == 4:
            one = make()
        assert one.run(at(second + 1.1)) == 1
    stepwise = read(data)

    for file in data.lake.rglob("*.parquet"):
        file.unlink()
    data.state_db.unlink()
    with closing(_fresh_state(tmp_path_factory)) as fresh:
        make_again = Materialiser(Settings(), data, EmbeddedStore(data, Settings()), fresh)
        make_again.run(at(8.2))
        make_again.close()
    assert read(data).equals(stepwise)


def _fresh_state(folder: pytest.TempPathFactory) -> sqlite3.Connection:
    from migrations import open_state

    return open_state(folder.mktemp("state") / "state.db")


def test_a_run_killed_before_its_commit_leaves_no_window_twice(
    data: DataFolder, state: sqlite3.Connection, write: Write, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(0, 4)
    make().run(at(4.1))
    write(4, 6)
    with monkeypatch.context() as patched:
        patched.setattr(materialise, "advance", _fails)
        with pytest.raises(StorageError):
            make().run(at(6.1))
    assert ends(data) == [1, 2, 3, 4, 5, 6], "the files were written"
    assert position(state, MATERIALISE, "h1") == at(4)

    write(6, 7)
    assert make().run(at(7.1)) == 3
    assert ends(data) == [1, 2, 3, 4, 5, 6, 7]


def _fails(*_: object) -> None:
    raise StorageError("no space left")


def test_a_failed_run_is_done_again_by_the_same_pipeline(
    data: DataFolder, write: Write, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = make()
    write(0, 2)
    one.run(at(2.1))
    write(2, 4)
    with monkeypatch.context() as patched:
        patched.setattr(materialise, "advance", _fails)
        with pytest.raises(StorageError):
            one.run(at(4.1))

    assert one.run(at(4.4)) == 2
    assert ends(data) == [1, 2, 3, 4]


def test_a_lost_state_database_neither_repeats_nor_deletes_what_the_lake_holds(
    data: DataFolder, write: Write, make: Make, tmp_path_factory: pytest.TempPathFactory
) -> None:
    write(0, 4)
    make().run(at(4.1))
    write(4, 6)
    with closing(_fresh_state(tmp_path_factory)) as fresh:
        anew = Materialiser(Settings(), data, EmbeddedStore(data, Settings()), fresh)
        assert lake_end(Lake(data), "h1") == at(4)
        assert anew.run(at(6.1)) == 2
        assert ends(data) == [1, 2, 3, 4, 5, 6]
        anew.close()


def test_a_backlog_is_done_a_minute_at_a_time(write: Write, make: Make, data: DataFolder) -> None:
    write(0, 100)
    one = make()
    (done,) = (one.run(at(100)),)
    (progress,) = one.progress()

    assert 0 < done <= 60
    assert progress.activity.startswith("catching up: ")
    catch_up(one, 100)
    assert ends(data) == list(range(1, 101))


def test_windows_wait_for_late_samples(write: Write, make: Make, data: DataFolder) -> None:
    write(0, 5)
    one = make(Settings(jobs=JobSettings(lateness=Duration(2))))

    one.run(at(5.5))
    assert ends(data) == [1, 2, 3]
    one.run(at(7))
    assert ends(data) == [1, 2, 3, 4, 5]


def test_a_host_that_fails_does_not_hold_up_the_others(
    write: Write, make: Make, state: sqlite3.Connection
) -> None:
    state.execute("INSERT INTO trackers VALUES ('h1', 'no JSON')")
    write(0, 4)
    write(0, 4, host="h2")
    with pytest.raises(CorruptError, match="tracker of host h1"):
        make().run(at(4.1))

    assert position(state, MATERIALISE, "h2") == at(4)


def test_a_defect_met_with_one_host_does_not_hold_up_the_others(
    write: Write, make: Make, state: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(pipeline: HostPipeline, now_ns: int) -> int:
        if pipeline._host == "h1":
            raise ZeroDivisionError("a defect")
        return plain(pipeline, now_ns)

    plain = HostPipeline.run
    monkeypatch.setattr(HostPipeline, "run", run)
    write(0, 4)
    write(0, 4, host="h2")
    with pytest.raises(ZeroDivisionError):
        make().run(at(4.1))

    assert position(state, MATERIALISE, "h2") == at(4)


def test_a_clock_set_back_by_an_hour_stalls_nothing(write: Write, make: Make, data: DataFolder) -> None:
    one = make()
    write(0, 4)
    one.run(at(4.1))
    write(4, 6)

    assert one.run(at(6.1 - 3600)) == 2
    assert ends(data) == [1, 2, 3, 4, 5, 6]


def test_a_pause_of_the_agent_neither_stalls_nor_fills_the_pipeline(
    write: Write, make: Make, data: DataFolder, state: sqlite3.Connection
) -> None:
    write(0, 4)
    write(4000, 4004)
    one = make()
    catch_up(one, 4004)

    assert ends(data) == [1, 2, 3, 4, 5, 6, *range(4001, 4005)]
    assert position(state, MATERIALISE, "h1") == at(4004)


def test_channels_are_catalogued_with_when_they_were_seen(
    write: Write, make: Make, state: sqlite3.Connection, data: DataFolder
) -> None:
    write(0, 3)
    make().run(at(3))

    rows = state.execute("SELECT metric, device, first_seen_ns, last_seen_ns FROM channels").fetchall()
    seen = {(row["metric"], row["device"]) for row in rows}
    assert {("busy_percent", "host"), ("system_percent", "host"), ("user_percent", "cpu0")} <= seen
    assert {tuple(row)[2:] for row in rows} == {(at(0), at(3))}
    assert pq.read_table(data.lake / "channels" / "h1.parquet").num_rows == len(rows)


def test_a_channel_that_is_gone_is_seen_no_longer(
    write: Write, make: Make, state: sqlite3.Connection, data: DataFolder
) -> None:
    write(0, 60)
    one = make()
    one.run(at(60))
    rest = SpoolWriter(data, SpoolSettings(), "h1")
    rest.open(CHANNELS[:2])
    for second in range(60, 200):
        rest.append(at(second), 1.0, np.array([10.0, 5.0], np.float32))
        rest.flush()
    catch_up(one, 200)
    rest.close()

    query = "SELECT metric, last_seen_ns FROM channels WHERE source <> 'derived'"
    last = {row["metric"]: row["last_seen_ns"] for row in state.execute(query)}
    assert last["user_percent"] <= at(120)
    assert last["busy_percent"] == last["system_percent"] >= at(140)


def test_a_new_channel_is_catalogued_with_its_first_window(
    write: Write, make: Make, state: sqlite3.Connection, data: DataFolder
) -> None:
    write(0, 5)
    one = make()
    one.run(at(5))
    wider = SpoolWriter(data, SpoolSettings(), "h1")
    wider.open([*CHANNELS, channel("idle_percent")])
    wider.append(at(5), 1.0, np.full(4, 10.0, np.float32))
    wider.flush()
    one.run(at(6))
    wider.close()

    query = "SELECT first_seen_ns FROM channels WHERE metric = 'idle_percent'"
    assert state.execute(query).fetchone()[0] == at(5)
