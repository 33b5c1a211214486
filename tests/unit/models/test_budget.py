from __future__ import annotations

import numpy as np
import pytest

from hostsight.clock import SECOND_NS
from hostsight.settings import DetectSettings
from models.budget import alarm_threshold, allowed_episodes, count_episodes, persistence, quiet_level
from models.calibration import Tail
from models.episodes import EpisodeTracker
from models.scored import Scored
from tests.unit.models.test_episodes import blame

SETTINGS = DetectSettings()
MINUTE_NS = 60 * SECOND_NS


def opened(hits: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int:
    """What the tracker itself opens."""
    tail = np.where(hits, 0.005, 0.5)
    column = np.column_stack([tail])
    ends = (1 + np.arange(len(hits))) * SECOND_NS
    none = np.zeros(len(hits), bool)
    scored = Scored(ends, ("zscore",), column, column, 1 / tail, tail, hits, none, tail, 0.01)
    changes = EpisodeTracker("gpu01", SETTINGS, SECOND_NS).update(scored, lambda _: blame("cpu"), "m1")
    return sum(change.action == "opened" for change in changes)


@pytest.mark.parametrize("seed", range(6))
def test_episodes_are_counted_as_the_tracker_opens_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    busy = np.repeat(rng.random(200) < 0.15, 25)
    hits = rng.random(5000) < np.where(busy, 0.7, 0.02)
    ends = (1 + np.arange(len(hits))) * SECOND_NS
    assert opened(hits) > 2
    assert count_episodes(ends[hits], SETTINGS, SECOND_NS) == opened(hits)


def test_persistence_is_time_with_a_floor_in_windows() -> None:
    assert persistence(SETTINGS, SECOND_NS) == SETTINGS
    slow = persistence(SETTINGS, MINUTE_NS)
    assert (slow.open_hits, slow.open_of, slow.open_extreme) == (2, 3, 1)
    assert [float(slow.close_after), float(slow.merge_gap)] == [600, 1200]


def test_the_level_keeps_healthy_windows_within_the_budget_and_no_higher() -> None:
    scores = np.random.default_rng(2).gamma(2.0, size=20_000)
    ends = (1 + np.arange(len(scores))) * MINUTE_NS
    rules = persistence(SETTINGS, MINUTE_NS)
    counts = {}
    for budget in (0.2, 0.5, 2.0):
        level = quiet_level(scores, ends, DetectSettings(alert_budget=budget))
        counts[budget] = count_episodes(ends[scores > level], rules, MINUTE_NS)
        assert counts[budget] <= budget * len(ends) / 1440
    assert 0 < counts[0.2] < counts[0.5] < counts[2.0]


def test_the_budget_is_for_the_time_that_windows_stand_for() -> None:
    """One in six of three days' windows is left out; then come two empty days, and one more."""
    minutes = np.arange(4 * 1440)
    minutes = minutes[minutes % 6 != 5] * MINUTE_NS
    ends = np.where(minutes < 3 * 1440 * MINUTE_NS, minutes, minutes + 2 * 1440 * MINUTE_NS)
    assert allowed_episodes(ends, DetectSettings(alert_budget=0.5)) == pytest.approx(2.0, abs=0.01)


def test_short_training_must_be_beyond_the_percentile_too() -> None:
    scores = np.random.default_rng(3).gamma(2.0, size=178)
    ends = (1 + np.arange(len(scores))) * SECOND_NS
    level = quiet_level(scores, ends, SETTINGS)
    assert 0 < alarm_threshold(Tail.fit(scores, 60), level, ends, SETTINGS) <= 0.01 + 1e-12
    assert alarm_threshold(Tail.fit(scores, 60), float(np.median(scores)), ends, SETTINGS) == pytest.approx(
        0.01
    )
