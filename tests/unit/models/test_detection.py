"""Baseline and tracker together, on an hour of a simulated host."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial

import pytest

from hostsight.channel import Subsystem
from hostsight.clock import SECOND_NS
from hostsight.settings import DetectSettings
from models.baseline import Baseline, fit_baseline
from models.episode_state import EpisodeChange
from models.episodes import EpisodeTracker
from models.protocol import WindowBlock
from tests.unit.models.simulator import Load, SimulatedHost

SETTINGS = DetectSettings()
WARMUP = 180
LOADS: Mapping[str, tuple[Subsystem, Load]] = {
    "busy loops on every CPU": (
        "cpu",
        {"busy_percent": 95.0, "some_pressure_percent": 60.0, "runnable_tasks": 4.0},
    ),
    "a memory hog": (
        "memory",
        {"available_bytes": -8e9, "faults_per_s": 2e5, "swapped_out_bytes_per_s": 1e8},
    ),
    "large writes": (
        "storage",
        {"write_bytes_per_s": 2e8, "utilisation_percent": 95.0, "write_await_seconds": 0.05},
    ),
    "a flood of packets": ("network", {"rx_bytes_per_s": 1e9, "tx_bytes_per_s": 2e7}),
    "retransmissions alone": ("network", {"tcp_retransmitted_segments_per_s": 5000.0}),
}


@cache
def learnt(seed: int) -> tuple[SimulatedHost, Baseline]:
    """A host of its own kind, and what its warm-up taught."""
    host = SimulatedHost(seed)
    return host, fit_baseline(host.windows(WARMUP), host.channels, SETTINGS)


def changes(baseline: Baseline, block: WindowBlock) -> list[EpisodeChange]:
    tracker = EpisodeTracker(SimulatedHost.host, SETTINGS, SECOND_NS)
    return tracker.update(baseline.score(block), partial(baseline.attribute, block), "m1")


@pytest.mark.parametrize("seed", range(4))
def test_a_quiet_hour_after_the_warm_up_costs_at_most_two_episodes(seed: int) -> None:
    host, baseline = learnt(seed)
    found = changes(baseline, host.windows(3600, start=WARMUP))
    assert sum(change.action == "opened" for change in found) <= 2


@pytest.mark.parametrize("name", LOADS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_minute_of_load_is_one_episode_of_its_subsystem(name: str, seed: int) -> None:
    subsystem, load = LOADS[name]
    host, baseline = learnt(seed)
    found = changes(baseline, host.windows(300, start=500, load=load, during=(100, 160)))
    assert [change.action for change in found] == ["opened", "closed"]
    assert found[0].opened_ns / SECOND_NS - 600 <= 8
    assert 655 <= found[1].last_seen_ns / SECOND_NS <= 675
    assert {change.subsystem for change in found} == {subsystem}
    assert found[1].attribution[0].metric in load


@pytest.mark.parametrize("seconds", [1, 2])
def test_a_short_burst_that_training_never_saw_is_no_episode(seconds: int) -> None:
    host, baseline = learnt(1)
    load = {"busy_percent": 95.0, "write_bytes_per_s": 2e8, "faults_per_s": 2e5}
    block = host.windows(300, start=500, load=load, during=(100, 100 + seconds))
    assert baseline.score(block).extreme.sum() >= 2
    assert changes(baseline, block) == []
