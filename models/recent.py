"""How much of the recent past was out of the ordinary: what lasts ranks before what comes and goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from models.protocol import Floats

_HALF_LIFE = 120.0
"""In windows."""
_WEIGHT = 2.5
_HIGH = 0.95


@dataclass(frozen=True, slots=True)
class Ranking:
    """What scores are like where nothing happens, as logarithms. high: what one in twenty exceeds."""

    median: float
    high: float

    @classmethod
    def fit(cls, scores: Floats) -> Self:
        """scores: logarithms, of windows that the detectors were not fitted to."""
        return cls(float(np.median(scores)), float(np.quantile(scores, _HIGH)))

    def with_recent_share(self, scores: Floats) -> Floats:
        """Each score plus how many of the recent ones were high: a share of 0 to 1, of a half-life of 120 windows, weighted
        by what sets high scores apart from usual ones.

        scores: [windows], logarithms, one after the other in time. However high a score is, it counts as one.
        """
        keep = 0.5 ** (1 / _HALF_LIFE)
        weight = _WEIGHT * (self.high - self.median)
        out, share = np.empty(len(scores)), 0.0
        for row, score in enumerate(scores.tolist()):
            share = keep * share + (1 - keep) * (score > self.high)
            out[row] = score + weight * share
        return out
