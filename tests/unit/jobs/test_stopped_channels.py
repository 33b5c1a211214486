"""A device that vanishes from live telemetry: missed, over a restart too, until it is learnt that it is gone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from hostsight.clock import SECOND_NS
from hostsight.folders import DataFolder
from hostsight.settings import DetectSettings, Duration, Settings, SpoolSettings
from ingest.embedded import EmbeddedStore
from ingest.spool import SpoolWriter
from jobs.materialise import Materialiser
from jobs.refit import run_refit
from models.episode_store import list_episodes
from tests.unit.jobs.conftest import CHANNELS, START_NS, TICKS

SETTINGS = Settings(detect=DetectSettings(accept_after=Duration(60)))
GONE = [channel.device for channel in CHANNELS].index("cpu0")


class Agent:
    """Writes seconds one after the other; `gone`: without what the lost device measured."""

    def __init__(self, data: DataFolder) -> None:
        self.second = 0
        self._writer = SpoolWriter(data, SpoolSettings(), "h1")
        self._writer.open(CHANNELS)
        self._random = np.random.default_rng(5)

    def write(self, seconds: int, *, gone: bool = False) -> None:
        for tick in range(self.second * TICKS, (self.second + seconds) * TICKS):
            values = self._random.normal(10, 1, len(CHANNELS)).astype(np.float32)
            if gone:
                values[GONE] = np.nan
            self._writer.append(START_NS + tick * SECOND_NS // TICKS, 0.1, values)
            if tick % TICKS == TICKS - 1:
                self._writer.flush()
        self.second += seconds

    def close(self) -> None:
        self._writer.close()


@pytest.fixture
def agent(data: DataFolder) -> Iterator[Agent]:
    with closing(Agent(data)) as one:
        yield one


def work(data: DataFolder, state: sqlite3.Connection, agent: Agent) -> None:
    """As jobs that start, do what there is, and end."""
    with closing(Materialiser(SETTINGS, data, EmbeddedStore(data, SETTINGS), state)) as jobs:
        while jobs.run(START_NS + agent.second * SECOND_NS):
            pass


def test_a_lost_device_is_one_episode_until_it_is_learnt_that_it_is_gone(
    data: DataFolder, state: sqlite3.Connection, agent: Agent
) -> None:
    agent.write(60)
    work(data, state, agent)
    run_refit(SETTINGS, data, "h1", "warm-up")

    agent.write(40, gone=True)
    work(data, state, agent)
    (episode,) = list_episodes(state)
    assert (episode.subsystem, episode.device, episode.state) == ("cpu", "cpu0", "open")
    assert episode.summary == "cpu cpu0 stopped reporting at 22:14:22 UTC"

    agent.write(60, gone=True)
    work(data, state, agent)
    assert [one.id for one in list_episodes(state, state="open")] == [episode.id], "over a restart"

    assert run_refit(SETTINGS, data, "h1", "growth").quarantined == 0, (
        "it has lasted for [detect] accept_after"
    )
    agent.write(90, gone=True)
    work(data, state, agent)
    assert [(one.id, one.state) for one in list_episodes(state)] == [(episode.id, "closed")]


def test_a_device_that_comes_back_ends_its_episode(
    data: DataFolder, state: sqlite3.Connection, agent: Agent
) -> None:
    agent.write(60)
    work(data, state, agent)
    run_refit(SETTINGS, data, "h1", "warm-up")
    agent.write(40, gone=True)
    agent.write(45)
    work(data, state, agent)
    assert [one.state for one in list_episodes(state)] == ["closed"]
