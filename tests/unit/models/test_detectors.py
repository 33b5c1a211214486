from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest as Reference

from models import mahalanobis
from models.isolation_forest import IsolationForest, average_path_length
from models.mahalanobis import Mahalanobis
from models.nearest import Nearest
from models.protocol import Detector, Floats
from models.registry import DETECTORS
from models.zscore import ZScore


@pytest.fixture
def usual() -> Floats:
    """500 windows of 12 columns, of which the first four move together."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(500, 12))
    x[:, 1:4] = x[:, :1] + 0.1 * rng.normal(size=(500, 3))
    return x


def test_zscore_is_the_mean_distance_in_steps() -> None:
    fitted = ZScore.fit(np.array([[0.0, 10.0], [2.0, 10.0]]), 0)
    assert fitted.score(np.array([[4.0, 10.0]])).tolist() == [1.5]


def test_a_broken_correlation_is_rarer_than_a_large_common_move(usual: Floats) -> None:
    fitted = Mahalanobis.fit(usual, 0)
    together, apart = np.zeros((2, 12))
    together[:4] = 2.0
    apart[:4] = [2.0, -2.0, 2.0, -2.0]
    common, broken = fitted.score(np.stack([together, apart]))
    assert broken > 3 * common


def test_mahalanobis_blames_the_column_that_left_the_others(usual: Floats) -> None:
    fitted = Mahalanobis.fit(usual, 0)
    window = usual[:1].copy()
    window[0, 7] = 9.0
    assert fitted.contributions(window).argmax() == 7


def test_mahalanobis_of_constant_training_scores_any_move(usual: Floats) -> None:
    fitted = Mahalanobis.fit(np.zeros((60, 12)), 0)
    still, moved = fitted.score(np.stack([np.zeros(12), np.full(12, 0.5)]))
    assert still == 0
    assert moved > 1000


def test_components_found_by_iteration_score_as_exact_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    wide = rng.normal(size=(400, 5)) @ rng.normal(size=(5, 150)) + 0.1 * rng.normal(size=(400, 150))
    exact = Mahalanobis.fit(wide, 0).score(wide)
    monkeypatch.setattr(mahalanobis, "_EXACT", 100)
    assert Mahalanobis.fit(wide, 0).score(wide) == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize("windows", [2, 40, 300, 700])
def test_isolation_forest_scores_as_scikit_learn_does(windows: int) -> None:
    rng = np.random.default_rng(windows)
    train, test = rng.normal(size=(windows, 9)), 2 * rng.normal(size=(200, 9))
    reference = Reference(n_estimators=100, max_samples=min(256, windows), random_state=11)
    reference.fit(train.astype(np.float32))
    ours = IsolationForest.fit(train, 11).score(test)
    assert np.abs(ours + reference.score_samples(test.astype(np.float32))).max() < 1e-9


def test_isolation_forest_blames_the_outlying_column(usual: Floats) -> None:
    window = np.zeros((1, 12))
    window[0, 9] = 8.0
    assert IsolationForest.fit(usual, 3).contributions(window).argmax() == 9


def test_the_nearest_windows_are_as_far_as_their_mean_distance() -> None:
    """Of training on a line, five windows are nearest to a place: 1, 1, 2, 2 and 3 away, 1.8 on average."""
    line = np.zeros((41, 2))
    line[:, 0] = np.arange(41.0)
    window = np.array([[20.0, 7.0]])
    without = Nearest.fit(np.delete(line, 20, axis=0), 0)
    assert without.score(window) == pytest.approx([1.8**2 / 2])
    assert without.contributions(np.array([[60.0, 7.0]])).tolist() == [[pytest.approx(22.0**2 / 2), 0.0]]


def test_average_path_length_follows_the_paper() -> None:
    found = average_path_length(np.array([1, 2, 256]))
    assert found[0] == 0
    assert found[1] == 1
    assert found[2] == pytest.approx(10.2448, abs=1e-4)


@pytest.mark.parametrize("kind", DETECTORS, ids=lambda kind: kind.name)
class TestEvery:
    def test_outliers_score_higher_than_usual_windows(self, kind: type[Detector], usual: Floats) -> None:
        fitted = kind.fit(usual, 0)
        assert fitted.score(np.full((1, 12), 6.0))[0] > np.quantile(fitted.score(usual), 0.99)

    def test_contributions_are_not_negative_and_finite(self, kind: type[Detector], usual: Floats) -> None:
        parts = kind.fit(usual, 0).contributions(usual[:50])
        assert parts.shape == (50, 12)
        assert (parts >= 0).all()
        assert np.isfinite(parts).all()

    def test_its_arrays_give_it_back_to_the_bit(self, kind: type[Detector], usual: Floats) -> None:
        fitted = kind.fit(usual, 0)
        again = kind.from_arrays(fitted.arrays())
        assert np.array_equal(again.score(usual), fitted.score(usual))

    def test_fitting_twice_gives_the_same(self, kind: type[Detector], usual: Floats) -> None:
        assert np.array_equal(kind.fit(usual, 4).score(usual), kind.fit(usual, 4).score(usual))

    def test_no_windows_have_no_scores(self, kind: type[Detector], usual: Floats) -> None:
        fitted = kind.fit(usual, 0)
        assert fitted.score(usual[:0]).shape == (0,)
        assert fitted.contributions(usual[:0]).shape == (0, 12)
