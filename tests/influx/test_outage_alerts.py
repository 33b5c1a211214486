"""An outage of the server in the middle of an episode: nothing is told to be over that goes on.

It is too short for the load to be taken for a new regime.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import numpy as np
import pytest

from hostsight.channel import Channel
from hostsight.clock import SECOND_NS, FakeClock
from hostsight.errors import StoreUnavailableError
from hostsight.folders import DataFolder
from hostsight.settings import AlertSettings, InfluxSettings, Settings, StoreSettings
from ingest.influx.client import InfluxClient
from ingest.influx.drain import Drain
from ingest.influx.store import InfluxStore
from jobs.alerts import queue_resolved
from jobs.materialise import Materialiser
from jobs.refit import run_refit
from models.episode_store import list_episodes
from tests.influx.conftest import new_bucket
from tests.influx.server import Server
from tests.influx.telemetry import HOST, drain_all, make_drain, spool

START_NS = 1_700_000_000 * SECOND_NS
LAYOUT = tuple(
    Channel(HOST, "cpu", device, metric, "gauge", "percent", 0.1, "/proc/test")
    for device, metric in (("host", "busy_percent"), ("host", "system_percent"), ("cpu0", "user_percent"))
)


class Scene:
    """An agent's spool with its drain, and the jobs, which share only the server and a clock."""

    def __init__(self, influx: InfluxSettings, data: DataFolder, state: sqlite3.Connection) -> None:
        self.settings = Settings(
            influx=influx,
            store=StoreSettings(kind="influx"),
            alerts=AlertSettings(webhook="http://127.0.0.1:9/alerts"),
        )
        self.clock = FakeClock(START_NS)
        self.client = InfluxClient(influx)
        self.drain: Drain = make_drain(influx, data, state)
        self.store = InfluxStore(self.settings, self.clock)
        self.jobs = Materialiser(self.settings, data, self.store, state)
        self._data = data
        self._state = state
        self._random = np.random.default_rng(7)

    def collect(self, first: int, last: int, level: float) -> None:
        """Seconds after START_NS, ten ticks each, about `level`."""
        values = self._random.normal(level, 1.0, ((last - first) * 10, len(LAYOUT))).astype(np.float32)
        spool(self._data, values, LAYOUT, start_ns=START_NS + first * SECOND_NS)

    def judge(self, second: int) -> None:
        """The jobs at `second`: all that is there, then alerts of what is over."""
        self.clock.advance((START_NS + second * SECOND_NS - self.clock.wall_ns()) / SECOND_NS)
        now_ns = self.clock.wall_ns()
        try:
            while self.jobs.run(now_ns):
                pass
        finally:
            gap_ns = self.settings.detect.merge_gap.ns
            queue_resolved(self._state, "webhook", gap_ns, START_NS, now_ns)

    @property
    def episodes(self) -> list[str]:
        return [episode.state for episode in list_episodes(self._state)]

    @property
    def told(self) -> list[str]:
        """Of the one episode, by its changes of state."""
        rows = self._state.execute("SELECT status FROM alerts ORDER BY id").fetchall()
        words = [row["status"] for row in rows]
        return [word for index, word in enumerate(words) if words[index - 1 : index] != [word]]

    def close(self) -> None:
        self.jobs.close()
        self.store.close()
        self.drain.close()
        self.client.close()


@pytest.fixture
def scene(own_server: Server, data: DataFolder, state: sqlite3.Connection) -> Iterator[Scene]:
    one = Scene(new_bucket(own_server), data, state)
    yield one
    one.close()


def test_an_episode_goes_on_through_an_outage_and_is_told_to_be_over_once_when_it_is(
    scene: Scene, own_server: Server, data: DataFolder
) -> None:
    scene.collect(0, 60, level=10)
    drain_all(scene.drain, scene.client)
    scene.judge(70)
    run_refit(scene.settings, data, HOST, "warm-up")
    scene.collect(60, 80, level=90)
    drain_all(scene.drain, scene.client)
    scene.judge(85)
    assert scene.episodes == ["open"]
    assert scene.told == ["firing"]

    own_server.stop()
    scene.collect(80, 280, level=90)
    for second in range(100, 281, 60):
        with pytest.raises(StoreUnavailableError):
            scene.judge(second)
    assert scene.told == ["firing"]

    own_server.start()
    scene.judge(281)  # the drain waits up to a minute between two tries
    scene.judge(340)
    assert scene.episodes == ["open"]
    assert scene.told == ["firing"]

    drain_all(scene.drain, scene.client)
    scene.judge(345)
    assert scene.episodes == ["open"]
    assert scene.told == ["firing"]

    scene.collect(280, 580, level=10)
    drain_all(scene.drain, scene.client)
    scene.judge(585)
    assert scene.episodes == ["closed"]
    assert scene.told == ["firing", "resolved"]
