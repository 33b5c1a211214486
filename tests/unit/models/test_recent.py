from __future__ import annotations

import numpy as np
import pytest

from models.recent import Ranking

USUAL = Ranking(median=0.0, high=1.0)


def test_what_is_high_is_what_one_in_twenty_exceeds() -> None:
    scores = np.arange(1001.0)
    assert Ranking.fit(scores) == Ranking(median=500.0, high=950.0)


def test_scores_are_raised_by_the_share_of_recent_ones_that_were_high() -> None:
    """After a half-life of high scores the share is a half, and another half-life later a quarter."""
    scores = np.concatenate([np.full(120, 3.0), np.zeros(120)])
    added = USUAL.with_recent_share(scores) - scores
    assert added[[119, 239]].tolist() == pytest.approx([1.25, 0.625])


def test_one_wild_score_counts_as_one_high_one() -> None:
    wild, high = (USUAL.with_recent_share(np.array([peak, 0.0]))[1] for peak in (1e9, 1.5))
    assert wild == high > 0


def test_usual_scores_stay_as_they_are() -> None:
    scores = np.array([0.2, -3.0, 1.0])
    assert USUAL.with_recent_share(scores).tolist() == scores.tolist()


def test_what_comes_later_changes_nothing() -> None:
    scores = np.random.default_rng(0).normal(size=500)
    assert np.array_equal(USUAL.with_recent_share(scores)[:200], USUAL.with_recent_share(scores[:200]))
