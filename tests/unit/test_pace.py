"""Ticking rarely while a host is idle, and at full rate at the first sign."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from hostsight.cadence import paced
from hostsight.channel import Channel, Subsystem
from hostsight.clock import FakeClock
from hostsight.configuration import load_settings
from hostsight.errors import SettingsError
from hostsight.folders import DataFolder
from hostsight.settings import AgentSettings, Settings
from ingest.collector import Host, Metric, Slot
from ingest.pace import CALM_SECONDS, Pace
from ingest.sampler import Sampler
from tests.unit.fakes import FakeCollector

FAST, IDLE = 100_000_000, 1_000_000_000


def channel(subsystem: Subsystem, device: str, metric: str, unit: str) -> Channel:
    return Channel("gpu01", subsystem, device, metric, "rate", unit, 0.1, "/proc")


BUSY = channel("cpu", "host", "busy_percent", "%")
CPUS = [channel("cpu", f"cpu{number}", "busy_percent", "%") for number in range(64)]
RX = channel("network", "eth0", "rx_bytes_per_s", "B/s")
DROPS = channel("network", "eth0", "rx_drops_per_s", "drops/s")
STALL = channel("memory", "host", "memory_some_percent", "%")
CHANNELS = (BUSY, *CPUS, RX, DROPS, STALL)


def values(changed: Mapping[Channel, float] | None = None) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """An idle server: 1 % busy, 20 kB/s, but for `changed`."""
    level = {BUSY: 1.0, RX: 20_000.0, **(changed or {})}
    return np.array([level.get(one, 0.0) for one in CHANNELS], np.float32)


def calmed() -> Pace:
    """After so much quiet that the ticks have become rare."""
    pace = Pace(FAST, IDLE)
    for _ in range((CALM_SECONDS + 1) * 10):
        pace.follow(values(), CHANNELS, 0.1)
    assert pace.tick_ns == IDLE
    return pace


def test_the_rate_is_full_until_the_host_was_calm_for_long_enough() -> None:
    pace = Pace(FAST, IDLE)
    lengths = [pace.follow(values(), CHANNELS, 0.1) for _ in range((CALM_SECONDS + 1) * 10)]
    assert lengths.index(IDLE) == pytest.approx(CALM_SECONDS * 10, abs=10)


@pytest.mark.parametrize(
    ("sign", "level"),
    [
        pytest.param(BUSY, 2.1, id="two thirds of a CPU of 64"),
        pytest.param(CPUS[17], 60, id="one CPU"),
        pytest.param(RX, 2e6, id="traffic"),
        pytest.param(DROPS, 1, id="a drop a second"),
        pytest.param(STALL, 12, id="stalls"),
    ],
)
def test_the_first_sign_in_a_slow_tick_makes_the_next_one_fast(sign: Channel, level: float) -> None:
    pace = calmed()
    assert pace.follow(values({sign: level}), CHANNELS, 1.0) == FAST


def test_no_sign_of_load_is_missed_over_a_thousand_idle_spells() -> None:
    """One CPU gets busy at any moment of a slow tick; the tick that ends after a whole second of it is answered."""
    random = np.random.default_rng(7)
    pace = calmed()
    for share in random.uniform(0, 1, 1_000):
        cpu = CPUS[int(random.integers(64))]
        begun = {cpu: 100 * share, BUSY: 1 + 100 * share / 64}
        answered = pace.follow(values(begun), CHANNELS, 1.0) == FAST
        full = {cpu: 100.0, BUSY: 1 + 100 / 64}
        assert answered or pace.follow(values(full), CHANNELS, 1.0) == FAST
        for _ in range(4 * CALM_SECONDS * 10):
            if pace.follow(values(), CHANNELS, 0.1) == IDLE:
                break
        assert pace.tick_ns == IDLE


def test_small_changes_keep_the_ticks_rare() -> None:
    pace = calmed()
    for step in range(120):
        wobble = {BUSY: 1 + 0.3 * (step % 2), RX: 20_000.0 * (1 + step % 3), CPUS[3]: 10.0 * (step % 2)}
        assert pace.follow(values(wobble), CHANNELS, 1.0) == IDLE


def test_a_steadily_busy_host_is_not_idle() -> None:
    pace = Pace(FAST, IDLE)
    lengths = {pace.follow(values({BUSY: 50}), CHANNELS, 0.1) for _ in range(2_000)}
    assert lengths == {FAST}


def test_a_new_layout_is_a_sign() -> None:
    pace = calmed()
    without = CHANNELS[:-1]
    assert pace.follow(values()[:-1], without, 1.0) == FAST


def test_a_host_that_does_not_say_how_busy_it_is_keeps_the_full_rate() -> None:
    pace = Pace(FAST, IDLE)
    channels = (RX,)
    lengths = {pace.follow(np.zeros(1, np.float32), channels, 0.1) for _ in range(1_000)}
    assert lengths == {FAST}


def test_absent_values_are_no_sign() -> None:
    pace = calmed()
    assert pace.follow(values({DROPS: np.nan, RX: np.nan}), CHANNELS, 1.0) == IDLE


def test_the_sampler_ticks_on_whole_seconds_while_idle_and_returns_within_one(clock: FakeClock) -> None:
    metric = Metric("busy_percent", "%", "gauge", "busy")
    collector = FakeCollector([Slot("cpu", "host", metric, 0.01, "/proc/stat")], [1])
    settings = Settings(agent=AgentSettings(host="gpu01", adaptive=True))
    one = Sampler([collector], Host(Path("/")), settings, clock)
    for _ in range((CALM_SECONDS + 2) * 10):
        one.tick()
    slow = [one.tick() for _ in range(5)]
    assert [tick.ts_ns % IDLE for tick in slow] == [0] * 5
    assert [tick.dt for tick in slow] == pytest.approx([1] * 5)
    assert one.tick_seconds == 1
    collector.values = [100]
    signs = [one.tick() for _ in range(3)]
    assert [tick.dt for tick in signs] == pytest.approx([1, 0.1, 0.1])
    assert (one.tick_seconds, one.meter.late_ticks) == (0.1, 0)


def test_statistics_are_of_means_where_the_rate_may_change() -> None:
    settings = Settings(agent=AgentSettings(adaptive=True))
    assert paced(settings).window.of_means
    assert paced(paced(settings)) == paced(settings)
    assert not paced(Settings()).window.of_means


def test_an_idle_tick_longer_than_a_pane_is_refused(data: DataFolder) -> None:
    flags = {("agent", "adaptive"): "true", ("agent", "idle_tick"): "5s"}
    with pytest.raises(SettingsError, match="idle_tick = 5s must be between"):
        load_settings(data, flags)
