"""Peers and stopped channels as episodes, by the way that live windows go."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from hostsight.channel import Channel
from hostsight.clock import SECOND_NS
from hostsight.settings import DetectSettings
from models.baseline import Baseline, fit_baseline
from models.episode_state import EpisodeChange
from models.episodes import EpisodeTracker
from models.frames import select_rows
from models.protocol import WindowBlock
from models.signal_watch import SignalWatch

GPUS = 4
CHANNELS = (
    *(Channel("h", "gpu", f"gpu{n}", "sm_clock_hertz", "gauge", "Hz", 1.0, "nvml") for n in range(GPUS)),
    *(Channel("h", "gpu", f"gpu{n}", "power_watts", "gauge", "W", 1.0, "nvml") for n in range(GPUS)),
    *(Channel("h", "cpu", "host", f"part{n}_percent", "gauge", "%", 0.1, "/proc/stat") for n in range(6)),
    Channel("h", "memory", "host", "temperature_celsius", "gauge", "°C", 10.0, "slow"),
)
BY_ID = {channel.id: channel for channel in CHANNELS}
ORDER = sorted(BY_ID)
LEVEL = {"Hz": 1.7e9, "W": 300.0, "%": 20.0, "°C": 50.0}
Values = NDArray[np.float32]


def column(metric: str, device: str = "host") -> int:
    return next(
        i for i, key in enumerate(ORDER) if (BY_ID[key].metric, BY_ID[key].device) == (metric, device)
    )


CLOCK3, POWER3, SLOW = (
    column("sm_clock_hertz", "gpu3"),
    column("power_watts", "gpu3"),
    column("temperature_celsius"),
)


def windows(count: int, start: int, seed: int = 0) -> WindowBlock:
    """Quiet; the slow channel has a value in three of ten windows."""
    rng = np.random.default_rng((seed, start))
    levels = np.array([LEVEL[BY_ID[key].unit] for key in ORDER])
    values = np.zeros((count, len(ORDER), 5), np.float32)
    values[:, :, [0, 2, 3]] = (levels * (1 + 0.01 * rng.normal(size=(count, len(ORDER)))))[:, :, np.newaxis]
    values[:, :, 1] = 0.01 * levels
    ends = start + np.arange(count, dtype=np.int64)
    values[ends % 10 > 2, SLOW] = np.nan
    return WindowBlock(ends * SECOND_NS, np.array(ORDER, np.int64), values)


@cache
def baseline() -> Baseline:
    return fit_baseline(windows(178, 3), BY_ID, DetectSettings())


def judged(block: WindowBlock, size: int = 60) -> list[EpisodeChange]:
    """As live: in batches, with everything that goes on between them."""
    known, tracker = baseline(), EpisodeTracker("h", DetectSettings(), SECOND_NS)
    watch, found = SignalWatch(known), list[EpisodeChange]()
    for at in range(0, len(block.ends), size):
        part = select_rows(block, slice(at, at + size))
        told = watch.look(part, known.score(part))
        found += tracker.update(
            told.scored,
            lambda rows, part=part, told=told: told.explain(  # type: ignore[misc]
                rows, lambda seen: known.attribute(part, seen)
            ),
            "m",
            (),
            told.unmeasured,
        )
    return found


def test_a_slow_gpu_is_an_episode_of_that_gpu_and_says_what_its_peers_do() -> None:
    block = windows(120, 200)
    block.values[40:80, CLOCK3] = 1.1e9
    found = judged(block)
    opened, closed = (next(one for one in found if one.action == action) for action in ("opened", "closed"))
    assert (opened.subsystem, opened.device, opened.metric) == ("gpu", "gpu3", "sm_clock_hertz")
    assert opened.summary == "gpu gpu3: sm clock is 1.1 GHz, its 3 peers are at 1.7 GHz"
    assert (opened.opened_ns // SECOND_NS - 240, closed.last_seen_ns // SECOND_NS) == (4, 279)
    assert [one.action for one in found].count("opened") == 1, "detectors and peers together make one"


def test_a_job_that_starts_on_all_gpus_says_nothing_of_peers() -> None:
    block = windows(120, 200)
    gpus = [column("power_watts", f"gpu{number}") for number in range(GPUS)]
    block.values[40:, gpus] *= 2
    assert all("peers" not in one.summary for one in judged(block))
    told = SignalWatch(baseline()).look(block, baseline().score(block))
    assert not told.devices.odd.any()


def test_a_channel_that_stops_is_an_episode_that_ends_when_it_is_back() -> None:
    block = windows(150, 200)
    block.values[40:80, POWER3] = np.nan
    found = judged(block)
    assert [one.action for one in found if one.action != "updated"] == ["opened", "closed"]
    assert found[0].summary == "gpu gpu3: power stopped reporting at 00:03:59 UTC"
    main = found[0].attribution[0]
    assert main.actual is None
    assert main.expected == pytest.approx(300, rel=0.02)
    assert found[-1].last_seen_ns == 279 * SECOND_NS


def test_a_device_that_vanishes() -> None:
    block = windows(150, 200)
    block.values[40:, [CLOCK3, POWER3]] = np.nan
    (opened,) = (one for one in judged(block) if one.action == "opened")
    assert opened.summary == "gpu gpu3 stopped reporting at 00:03:59 UTC"
    assert sum(one.share for one in opened.attribution) == pytest.approx(1)


def test_a_device_that_is_gone_for_good_is_learnt_and_no_longer_missed() -> None:
    gone = windows(400, 200)
    gone.values[200:, [CLOCK3, POWER3]] = np.nan
    known = fit_baseline(gone, BY_ID, DetectSettings())
    later = windows(100, 600)
    later.values[:, [CLOCK3, POWER3]] = np.nan
    told = SignalWatch(known).look(later, known.score(later))
    assert not told.stops.stopped.any()


def test_a_quiet_host_and_one_with_a_collector_that_failed_raise_nothing() -> None:
    assert judged(windows(300, 200)) == []
    failed = windows(300, 200)
    failed.values[40:, [i for i, key in enumerate(ORDER) if BY_ID[key].subsystem == "gpu"]] = np.nan
    assert judged(failed) == []


@pytest.mark.parametrize("size", [1, 60])
def test_a_channel_of_the_slow_tier_opens_an_episode_alone(size: int) -> None:
    block = windows(120, 200)
    block.values[40:80, SLOW, [0, 2, 3]] += 60
    found = judged(block, size)
    assert found[0].action == "opened"
    assert found[0].metric == "temperature_celsius"
    assert 250 <= found[0].opened_ns // SECOND_NS <= 252, "with its second measurement"


def test_one_odd_measurement_of_the_slow_tier_opens_nothing() -> None:
    block = windows(120, 200)
    block.values[40:50, SLOW, [0, 2, 3]] += 60
    assert judged(block) == []


def test_channels_that_stand_still_or_were_never_there_alarm_nobody() -> None:
    block = windows(600, 200)
    block.values[:, column("part0_percent")] = block.values[0, column("part0_percent")]
    block.values[:, column("part0_percent"), [1, 4]] = 0
    assert [one for one in judged(block) if one.action == "opened"] == []
