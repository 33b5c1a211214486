"""How long a score has been high: what lasts ranks before what comes and goes."""

from __future__ import annotations

import numpy as np

from models.protocol import Floats

_HALF_LIFE = 120.0
_WEIGHT = 0.5


def with_recent_level(scores: Floats, start: float) -> Floats:
    """Each score plus half of the scores' recent level: their exponential mean, of a half-life of 120 windows.

    scores: [windows], one after the other in time, logarithms.  start: the level before the first, as in training.
    """
    keep = 0.5 ** (1 / _HALF_LIFE)
    out, level = np.empty(len(scores)), start
    for row, score in enumerate(scores.tolist()):
        level = keep * level + (1 - keep) * score
        out[row] = score + _WEIGHT * level
    return out
