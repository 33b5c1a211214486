from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest as Reference

from models import principal
from models.detector import Detector
from models.isolation_forest import IsolationForest, average_path_length
from models.mahalanobis import Mahalanobis
from models.nearest import Nearest
from models.protocol import Floats
from models.registry import DETECTORS
from models.space import Space, Training, View
from models.zscore import ZScore


class Fitted:
    """A detector with the space it was fitted in."""

    def __init__(self, kind: type[Detector], x: Floats, seed: int) -> None:
        training = Training.of(x, seed)
        self.detector: Detector = kind.fit(training)
        self.space = training.space

    def score(self, x: Floats) -> Floats:
        return self.detector.score(View(x, self.space))


@pytest.fixture
def usual() -> Floats:
    """500 windows of 12 columns, of which the first four move together."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(500, 12))
    x[:, 1:4] = x[:, :1] + 0.1 * rng.normal(size=(500, 3))
    return x


def test_zscore_is_the_mean_distance_in_steps() -> None:
    fitted = Fitted(ZScore, np.array([[0.0, 10.0], [2.0, 10.0]]), 0)
    assert fitted.score(np.array([[4.0, 10.0]])).tolist() == [1.5]


def test_a_broken_correlation_is_rarer_than_a_large_common_move(usual: Floats) -> None:
    fitted = Fitted(Mahalanobis, usual, 0)
    together, apart = np.zeros((2, 12))
    together[:4] = 2.0
    apart[:4] = [2.0, -2.0, 2.0, -2.0]
    common, broken = fitted.score(np.stack([together, apart]))
    assert broken > 3 * common


def test_mahalanobis_of_constant_training_scores_any_move(usual: Floats) -> None:
    fitted = Fitted(Mahalanobis, np.zeros((60, 12)), 0)
    still, moved = fitted.score(np.stack([np.zeros(12), np.full(12, 0.5)]))
    assert still == 0
    assert moved > 1000


def test_components_found_by_iteration_score_as_exact_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    wide = rng.normal(size=(400, 5)) @ rng.normal(size=(5, 150)) + 0.1 * rng.normal(size=(400, 150))
    exact = Fitted(Mahalanobis, wide, 0).score(wide)
    monkeypatch.setattr(principal, "_EXACT", 100)
    assert Fitted(Mahalanobis, wide, 0).score(wide) == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize("shape", [(400, 150), (150, 400)])
def test_iteration_finds_orthonormal_components_of_what_varies_in_three_ways_alone(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int]
) -> None:
    rng = np.random.default_rng(8)
    windows, columns = shape
    flat = (rng.normal(size=(windows, 3)) @ rng.normal(size=(3, columns))).astype(np.float32)
    monkeypatch.setattr(principal, "_EXACT", 100)
    found = principal.Principal.fit(flat, 0)
    kept = found.components[: found.leading(0.9999)]
    assert len(kept) == 3
    assert kept @ kept.T == pytest.approx(np.eye(3), abs=1e-9)
    assert found.variances[:3].sum() == pytest.approx(found.total, rel=1e-6)
    assert principal.Principal.fit(np.ones_like(flat), 0).leading(0.95) == 0


@pytest.mark.parametrize("windows", [2, 40, 300, 700])
def test_isolation_forest_scores_as_scikit_learn_does(windows: int) -> None:
    rng = np.random.default_rng(windows)
    train, test = rng.normal(size=(windows, 9)), 2 * rng.normal(size=(200, 9))
    reference = Reference(n_estimators=100, max_samples=min(256, windows), random_state=11)
    reference.fit(train.astype(np.float32))
    ours = Fitted(IsolationForest, train, 11).score(test)
    assert np.abs(ours + reference.score_samples(test.astype(np.float32))).max() < 1e-9


def test_the_nearest_windows_are_as_far_as_their_mean_distance() -> None:
    """Of training on a line, five windows are nearest to a place: 1, 1, 2, 2 and 3 away, 1.8 on average."""
    line = np.zeros((41, 2))
    line[:, 0] = np.arange(41.0)
    window = np.array([[20.0, 7.0]])
    without = Fitted(Nearest, np.delete(line, 20, axis=0), 0)
    assert without.score(window) == pytest.approx([1.8**2 / 2])


def test_average_path_length_follows_the_paper() -> None:
    found = average_path_length(np.array([1, 2, 256]))
    assert found[0] == 0
    assert found[1] == 1
    assert found[2] == pytest.approx(10.2448, abs=1e-4)


@pytest.mark.parametrize("kind", DETECTORS, ids=lambda kind: kind.name)
class TestEvery:
    def test_outliers_score_higher_than_usual_windows(self, kind: type[Detector], usual: Floats) -> None:
        fitted = Fitted(kind, usual, 0)
        assert fitted.score(np.full((1, 12), 6.0))[0] > np.quantile(fitted.score(usual), 0.99)

    def test_its_arrays_give_it_back_to_the_bit(self, kind: type[Detector], usual: Floats) -> None:
        fitted = Fitted(kind, usual, 0)
        again = kind.from_arrays(fitted.detector.arrays())
        space = Space.from_arrays(fitted.space.arrays())
        assert np.array_equal(again.score(View(usual, space)), fitted.score(usual))

    def test_fitting_twice_gives_the_same(self, kind: type[Detector], usual: Floats) -> None:
        assert np.array_equal(Fitted(kind, usual, 4).score(usual), Fitted(kind, usual, 4).score(usual))

    def test_no_windows_have_no_scores(self, kind: type[Detector], usual: Floats) -> None:
        fitted = Fitted(kind, usual, 0)
        assert fitted.score(usual[:0]).shape == (0,)

    def test_a_window_alone_scores_as_among_others_in_any_order(
        self, kind: type[Detector], usual: Floats
    ) -> None:
        fitted = Fitted(kind, usual, 0)
        together = fitted.score(usual[:40])
        assert np.array_equal(fitted.score(usual[39::-1])[::-1], together)
        assert np.array_equal(
            np.concatenate([fitted.score(usual[row : row + 1]) for row in range(40)]), together
        )

    def test_single_precision_tells_the_same(self, kind: type[Detector], usual: Floats) -> None:
        rough = usual.astype(np.float32)
        training = Training.of(rough, 0)
        found = kind.fit(training).score(View(rough, training.space))
        assert found == pytest.approx(
            Fitted(kind, rough.astype(np.float64), 0).score(usual), rel=1e-3, abs=1e-5
        )
