"""When a baseline is asked for, and how windows become episodes and new regimes."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import pytest

from hostsight.errors import StoreUnavailableError
from hostsight.folders import DataFolder
from hostsight.settings import DetectSettings, Duration, Settings
from ingest.embedded import EmbeddedStore
from jobs.materialise import Materialiser
from jobs.refit import run_refit
from jobs.requests import oldest
from jobs.runs import finish_run, start_run
from models.episode_store import list_episodes
from models.manifest import FORMAT
from tests.unit.jobs.conftest import Write
from tests.unit.jobs.materialise.conftest import Make, at, catch_up, read


def test_the_end_of_the_warm_up_asks_for_the_first_baseline_once(
    write: Write, make: Make, state: sqlite3.Connection
) -> None:
    settings = Settings(detect=DetectSettings(warmup=Duration(40)))
    write(0, 37)
    make(settings).run(at(37))
    assert oldest(state) is None

    write(37, 38)
    one = make(settings)
    one.run(at(38))
    request = oldest(state)
    assert request is not None
    assert (request.why, request.host) == ("warm-up", "h1")
    assert state.execute("SELECT count(*) FROM requests").fetchone()[0] == 1


def asked(state: sqlite3.Connection) -> str:
    """Why a refit is asked for."""
    request = oldest(state)
    assert request is not None
    return request.why


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
    assert asked(state) == "unusable"

    run_refit(settings, data, "h1", "unusable")
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
    assert asked(state) == "new-regime"
    assert state.execute("SELECT count(*) FROM requests").fetchone()[0] == 1, "asked for once"

    assert run_refit(settings, data, "h1", "new-regime").promoted
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
    assert asked(state) == "new-regime"

    write(130, 150, level=90)
    catch_up(one, 150)
    assert len(list_episodes(state)) == 1, "nothing opens while it is learnt"
    assert run_refit(settings, data, "h1", "new-regime").promoted
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
