"""Hosts that share a job, compared while their windows come in."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from hostsight.clock import SECOND_NS
from hostsight.folders import DataFolder
from hostsight.settings import DetectSettings, Settings
from ingest.embedded import EmbeddedStore
from jobs.materialise import Materialiser
from jobs.refit import run_refit
from models.episode_store import list_episodes
from tests.unit.jobs.conftest import START_NS, Write

SETTINGS = Settings(detect=DetectSettings(peer_hosts=("node*",)))
HOSTS = ("node1", "node2", "node3")


def test_a_host_that_does_not_do_as_the_others_is_an_episode_of_that_host(
    data: DataFolder, write: Write, state: sqlite3.Connection
) -> None:
    with closing(Materialiser(SETTINGS, data, EmbeddedStore(data, SETTINGS), state)) as jobs:

        def work(first: int, last: int, slow: float = 10.0) -> None:
            """Second by second, as live."""
            for second in range(first, last):
                for host in HOSTS:
                    write(second, second + 1, host=host, level=slow if host == "node2" else 10.0)
                while jobs.run(START_NS + (second + 1) * SECOND_NS):
                    pass

        work(0, 60)
        for host in HOSTS:
            run_refit(SETTINGS, data, host, "warm-up")
        work(60, 130)
        assert list_episodes(state) == []
        work(130, 150, slow=40.0)

    (episode,) = list_episodes(state)
    assert episode.host == "node2"
    assert episode.summary.startswith("cpu: busy is 40")
    assert "its 2 peer hosts are at" in episode.summary
