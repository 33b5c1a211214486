from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hostsight.channel import Channel, Subsystem
from ingest.registry import collectors
from models.effects import EFFECTS, METRICS, effect, smallest_effects


def channel(metric: str, unit: str, subsystem: Subsystem = "network") -> Channel:
    return Channel("h", subsystem, "host", metric, "rate", unit, 0.1, "")


def test_one_oom_kill_in_a_window_matters_and_a_thousand_events_do_not() -> None:
    assert effect(channel("out_of_memory_kills_per_s", "errors/s")).at(0) < 1 / 3
    assert effect(channel("tcp_delayed_acks_per_s", "events/s")).at(0) > 1000


def test_what_matters_grows_with_the_usual_level() -> None:
    assert effect(channel("rx_bytes_per_s", "B/s")).at(0) == 10e6
    assert effect(channel("rx_bytes_per_s", "B/s")).at(1e9) == 5e8


def test_a_rate_of_an_unknown_unit_takes_the_default_of_rates() -> None:
    assert effect(channel("frobs_per_s", "frobs/s")).at(0) == 1000
    assert effect(channel("frobs", "frobs")).at(0) == 4


def test_a_state_matters_as_soon_as_it_is_another() -> None:
    link = Channel("h", "network", "eth0", "carrier", "state", "1", 1.0, "")
    assert effect(link).at(1.0) < 1


def test_every_unit_that_is_collected_has_an_effect_of_its_own() -> None:
    collected = {metric.unit for collector in collectors() for metric in collector.metrics}
    of_hostsight_itself = {"ticks/s", "values/s"}
    assert collected - of_hostsight_itself <= EFFECTS.keys()


def test_amounts_of_memory_are_judged_against_the_whole() -> None:
    channels = [
        channel("total_bytes", "B", "memory"),
        channel("dirty_bytes", "B", "memory"),
        channel("x_bytes", "B"),
    ]
    found = smallest_effects(channels, np.array([64e9, 1e6, 1e6]))
    assert found == pytest.approx([6.4e9, 3.2e9, 256e6])


def test_every_effect_is_documented() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "detection.md").read_text("utf-8")
    for unit, known in EFFECTS.items():
        assert f"| {unit} | {known.absolute:,g} | {known.relative:.0%} |" in text
    for pattern, known in METRICS:
        name = pattern.pattern.replace("|", "\\|")
        assert f"| `{name}` | {known.absolute:,g} | {known.relative:.0%} |" in text
