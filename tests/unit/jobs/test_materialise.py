from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from hostsight.clock import SECOND_NS
from hostsight.errors import CorruptError, StorageError, StoreUnavailableError
from hostsight.folders import DataFolder
from hostsight.settings import DetectSettings, Duration, JobSettings, Settings, SpoolSettings
from hostsight.timerange import TimeRange
from ingest.embedded import EmbeddedStore
from ingest.lake import Lake
from ingest.spool import SpoolWriter
from jobs import materialise
from jobs.materialise import HostPipeline, Materialiser, lake_end
from jobs.refit import run_refit
from jobs.requests import oldest
from jobs.runs import finish_run, start_run
from jobs.schedule import MATERIALISE
from jobs.watermarks import position
from models.episode_store import list_episodes
from models.manifest import FORMAT
from tests.unit.jobs.conftest import CHANNELS, START_NS, Write, channel

ALL = TimeRange(0, 2**62)
Make = Callable[..., Materialiser]


def at(second: float) -> int:
    return START_NS + round(second * SECOND_NS)


def catch_up(one: Materialiser, second: float) -> None:
    """All that there is to do at that second."""
    while one.run(at(second)):
        pass


@pytest.fixture
def make(data: DataFolder, state: sqlite3.Connection) -> Iterator[Make]:
    """A pipeline as it is after a start: nothing in memory."""
    made: list[Materialiser] = []

    def build(settings: Settings | None = None) -> Materialiser:
        settings = settings or Settings()
        made.append(Materialiser(settings, data, EmbeddedStore(data, settings), state))
        return made[-1]

    yield build
    for one in made:
        one.close()


def read(data: DataFolder, kind: str = "features") -> pa.Table:
    return Lake(data).read(kind, "h1", ALL)  # type: ignore[arg-type]  # a literal at each call


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


def test_the_end_of_the_warm_up_asks_for_the_first_baseline_once(
    write: Write, make: Make, state: sqlite3.Connection
) -> None:
    settings = Settings(detect=DetectSettings(warmup=Duration(20)))
    write(0, 17)
    make(settings).run(at(17))
    assert oldest(state) is None

    write(17, 18)
    one = make(settings)
    one.run(at(18))
    request = oldest(state)
    assert request is not None
    assert (request.why, request.host) == ("warm-up", "h1")
    assert state.execute("SELECT count(*) FROM requests").fetchone()[0] == 1


def learn(data: DataFolder, write: Write, one: Materialiser) -> None:
    write(0, 60)
    catch_up(one, 60)
    run_refit(Settings(), data, "h1", "warm-up")


def test_a_model_of_another_hostsight_is_told_of_and_learnt_anew_without_anybodys_help(
    data: DataFolder, write: Write, make: Make, state: sqlite3.Connection
) -> None:
    settings = Settings(detect=DetectSettings(warmup=Duration(20)))
    learn(data, write, make(settings))
    (manifest,) = data.models.glob("*/manifest.json")
    manifest.write_text(manifest.read_text().replace(f'"format": {FORMAT}', f'"format": {FORMAT - 1}'))
    state.execute("DELETE FROM requests")

    one = make(settings)
    write(60, 70)
    one.run(at(70))
    (problem,) = one.problems()
    assert f"was written by another hostsight (format {FORMAT - 1}, here {FORMAT})" in problem
    request = oldest(state)
    assert request is not None
    assert request.why == "unusable"

    run_refit(settings, data, "h1", request.why)
    write(70, 85)
    catch_up(one, 85)
    assert one.problems() == ()
    assert [host.live for host in one.progress()] == [True]


def test_something_unusual_becomes_one_episode(
    data: DataFolder, write: Write, make: Make, state: sqlite3.Connection
) -> None:
    one = make()
    learn(data, write, one)
    write(60, 70)
    write(70, 85, level=90)
    catch_up(one, 85)

    (episode,) = list_episodes(state)
    assert (episode.host, episode.subsystem, episode.state) == ("h1", "cpu", "open")
    assert at(70) < episode.opened_ns <= at(79)
    detectors = set(read(data, "scores")["detector"].to_pylist())
    assert {"fused", "zscore"} <= detectors


def test_no_episode_opens_while_hostsight_itself_refits(
    data: DataFolder, write: Write, make: Make, state: sqlite3.Connection
) -> None:
    one = make()
    learn(data, write, one)
    refit = start_run(state, "refit", at(60))
    write(60, 85, level=90)
    catch_up(one, 85)
    assert list_episodes(state) == []

    finish_run(state, refit, at(85), None)
    write(85, 100, level=90)
    catch_up(one, 100)
    (episode,) = list_episodes(state)
    assert episode.opened_ns > at(88), "after the last window with a second of the refit in it"


def test_an_open_episode_closes_when_its_host_falls_silent(
    data: DataFolder, write: Write, make: Make, state: sqlite3.Connection
) -> None:
    one = make()
    learn(data, write, one)
    write(60, 75, level=90)
    catch_up(one, 75)
    assert [episode.state for episode in list_episodes(state)] == ["open"]

    one.run(at(600))
    assert [episode.state for episode in list_episodes(state)] == ["closed"]


def test_an_outage_of_the_server_does_not_end_an_episode(
    data: DataFolder, write: Write, make: Make, state: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EmbeddedStore, "name", "influx")
    one = make()
    learn(data, write, one)
    write(60, 75, level=90)
    catch_up(one, 75)

    def away(_: EmbeddedStore) -> Sequence[str]:
        raise StoreUnavailableError("away")

    with monkeypatch.context() as outage:
        outage.setattr(EmbeddedStore, "hosts", away)
        with pytest.raises(StoreUnavailableError):
            one.run(at(300))
    one.run(at(301))
    one.run(at(390))
    assert [episode.state for episode in list_episodes(state)] == ["open"], (
        "the drain may still wait to try again"
    )

    one.run(at(391))
    assert [episode.state for episode in list_episodes(state)] == ["closed"]


def test_an_episode_that_lasts_is_learnt_as_a_new_regime_and_ends(
    data: DataFolder, write: Write, make: Make, state: sqlite3.Connection
) -> None:
    settings = Settings(detect=DetectSettings(accept_after=Duration(30)))
    one = make(settings)
    learn(data, write, one)
    state.execute("DELETE FROM requests")
    write(60, 85, level=90)
    catch_up(one, 85)
    assert oldest(state) is None, "it has not lasted long enough"

    write(85, 115, level=90)
    catch_up(one, 115)
    request = oldest(state)
    assert request is not None
    assert request.why == "new-regime"
    assert state.execute("SELECT count(*) FROM requests").fetchone()[0] == 1, "asked for once"

    assert run_refit(settings, data, "h1", request.why).promoted
    write(115, 160, level=90)
    catch_up(one, 160)
    assert [episode.state for episode in list_episodes(state)] == ["closed"]
    live = state.execute("SELECT reason FROM models WHERE state = 'live'").fetchone()
    assert live["reason"] == "new regime: an episode that lasts"


def test_a_steady_new_job_is_one_episode_closed_as_a_new_regime_and_learnt(
    data: DataFolder, write: Write, make: Make, state: sqlite3.Connection
) -> None:
    settings = Settings(detect=DetectSettings(regime_after=Duration(40)))
    one = make(settings)
    learn(data, write, one)
    state.execute("DELETE FROM requests")
    write(60, 130, level=90)
    catch_up(one, 130)
    (episode,) = list_episodes(state)
    assert (episode.state, episode.regime, episode.severity) == ("closed", "new regime", "info")
    assert episode.summary.startswith("new regime: cpu: busy")
    request = oldest(state)
    assert request is not None
    assert request.why == "new-regime"

    write(130, 150, level=90)
    catch_up(one, 150)
    assert len(list_episodes(state)) == 1, "nothing opens while it is learnt"
    assert run_refit(settings, data, "h1", request.why).promoted
    for level, start in ((90.0, 150), (10.0, 190), (90.0, 230)):
        write(start, start + 40, level=level)
        catch_up(one, start + 40)
    assert len(list_episodes(state)) == 1, "it knows both, and may go from one to the other"


def test_a_level_that_keeps_growing_is_no_new_regime(
    data: DataFolder, write: Write, make: Make, state: sqlite3.Connection
) -> None:
    settings = Settings(detect=DetectSettings(regime_after=Duration(40)))
    one = make(settings)
    learn(data, write, one)
    for step in range(18):
        write(60 + 5 * step, 65 + 5 * step, level=28.0 + 4 * step)
    catch_up(one, 150)
    assert [episode.regime for episode in list_episodes(state, state="open")] == [""]
