from __future__ import annotations

import numpy as np
import pytest

from hostsight.clock import SECOND_NS
from hostsight.settings import DetectSettings
from models.budget import count_episodes, persistence
from models.fusion import Fusion, Voice, mean_logarithm
from models.nearest import Nearest
from models.neighbours import Neighbours
from models.protocol import Floats
from models.registry import ENTRIES, Role
from models.space import Training, View

MINUTE_NS = 60 * SECOND_NS
NAMES = [entry.name for entry in ENTRIES]
WINDOWS = 20_000
SETTINGS = DetectSettings(alert_budget=0.5)
ENDS = (1 + np.arange(WINDOWS)) * MINUTE_NS


def scores(**columns: float) -> Floats:
    """One window: the detectors named have that score, all others none to speak of."""
    return np.array([[columns.get(name, 0.0) for name in NAMES]])


@pytest.fixture(scope="module")
def held_out() -> Floats:
    """Scores of usual windows."""
    return np.random.default_rng(4).gamma(2.0, size=(WINDOWS, len(NAMES)))


def test_the_mean_is_geometric_and_over_the_detectors_of_the_role_alone() -> None:
    window = scores(nearest=8.0, nearest_short=2.0, zscore=1e6, neighbours=1e6, neighbours_short=1e6)
    assert np.exp(mean_logarithm(window, ENTRIES, "opens")) == pytest.approx([4.0])


def test_what_is_beyond_either_threshold_is_anomalous(held_out: Floats) -> None:
    fusion = Fusion.fit(held_out, ENTRIES, WINDOWS, ENDS, SETTINGS)
    near = {"nearest": 2.0, "nearest_short": 2.0}
    rest = {"neighbours": 2.0, "neighbours_short": 2.0}
    far = {"nearest": 40.0, "nearest_short": 40.0}
    odd = {"neighbours": 40.0, "neighbours_short": 40.0}
    windows = np.concatenate([scores(**each) for each in (near | rest, far | rest, near | odd)])
    found = fusion.probability(windows, ENTRIES) <= fusion.threshold
    assert found.tolist() == [False, True, True]


def test_the_distances_keep_to_the_budget_and_what_guards_opens_nothing(held_out: Floats) -> None:
    fusion = Fusion.fit(held_out, ENTRIES, WINDOWS, ENDS, SETTINGS)
    allowed = SETTINGS.alert_budget * WINDOWS / 1440
    voices: list[tuple[Role, Voice]] = [("opens", fusion.opening), ("guards", fusion.guarding)]
    counts = []
    for role, voice in voices:
        own = np.exp(mean_logarithm(held_out, ENTRIES, role))
        beyond = ENDS[voice.tail.probability(own) < voice.threshold]
        counts.append(count_episodes(beyond, persistence(SETTINGS, MINUTE_NS), MINUTE_NS))
    assert 0 < counts[0] <= allowed
    assert counts[1] == 0


def test_it_lasts_in_its_arrays(held_out: Floats) -> None:
    fusion = Fusion.fit(held_out, ENTRIES, WINDOWS, ENDS, SETTINGS)
    again = Fusion.from_arrays(fusion.arrays())
    assert again.threshold == fusion.threshold
    assert np.array_equal(again.probability(held_out, ENTRIES), fusion.probability(held_out, ENTRIES))


def test_a_column_that_never_varied_is_seen_by_what_guards_alone(held_out: Floats) -> None:
    """No component of training reaches into it, so the nearest windows are as near as ever."""
    usual = np.random.default_rng(1).normal(size=(400, 6))
    usual[:, 5] = 0.0
    odd = usual[:1].copy()
    odd[0, 5] = 9.0
    training = Training.of(usual, 0)
    alike, strange, known = (View(x, training.space) for x in (usual[:1], odd, usual))
    assert Nearest.fit(training).score(strange) == pytest.approx(Nearest.fit(training).score(alike))
    guard = Neighbours.fit(training)
    assert guard.score(strange)[0] > 3 * guard.score(known).max()
