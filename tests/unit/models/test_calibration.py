from __future__ import annotations

import numpy as np
import pytest

from models.calibration import Tail, folds, margin

_MANY = 1e9
"""So many independent windows that no margin is left."""


def test_tail_probability_of_a_known_distribution() -> None:
    scores = np.random.default_rng(1).exponential(size=20_000)
    tail = Tail.fit(scores, _MANY)
    found = tail.probability(-np.log(np.array([0.5, 0.1, 0.01, 1e-4])))
    assert found == pytest.approx([0.5, 0.1, 0.01, 1e-4], rel=0.35)


def test_a_heavy_tail_is_not_taken_for_a_light_one() -> None:
    scores = np.random.default_rng(2).pareto(3.0, size=20_000)
    found = Tail.fit(scores, _MANY).probability(np.array([1e-4 ** (-1 / 3) - 1]))
    assert found[0] == pytest.approx(1e-4, rel=0.6)


def test_probability_falls_with_the_score_and_never_reaches_zero() -> None:
    tail = Tail.fit(np.random.default_rng(3).normal(size=300), 100)
    found = tail.probability(np.linspace(-5, 1e6, 2000))
    assert (np.diff(found) <= 0).all()
    assert found[0] == 1
    assert found[-1] > 0


def test_few_windows_make_a_score_less_remarkable() -> None:
    scores = np.random.default_rng(4).exponential(size=58)
    score = np.array([2 * scores.max()])
    few, many = (Tail.fit(scores, count).probability(score)[0] for count in (20, _MANY))
    assert few > 2 * many
    assert margin(20) > margin(60) > margin(30_000) > 1


def test_equal_scores_leave_a_usable_tail() -> None:
    tail = Tail.fit(np.full(58, 3.0), 20)
    assert tail.probability(np.array([3.0]))[0] > 0.5
    assert tail.probability(np.array([30.0]))[0] < 1e-6


def test_arrays_give_the_tail_back() -> None:
    tail = Tail.fit(np.random.default_rng(5).gamma(2, size=200), 66)
    scores = np.linspace(0, 30, 50)
    assert np.array_equal(Tail.from_arrays(tail.arrays()).probability(scores), tail.probability(scores))


@pytest.mark.parametrize("windows", [30, 58, 178, 1000])
def test_folds_hold_out_every_row_once_and_fit_nothing_that_overlaps(windows: int) -> None:
    found = list(folds(windows, 5, 4, overlap=3))
    assert sorted(np.concatenate([held for _, held in found]).tolist()) == list(range(windows))
    for fitted, held in found:
        assert len(fitted) > 0
        assert min(np.abs(held - row).min() for row in fitted) == 3
