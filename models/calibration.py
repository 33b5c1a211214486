"""From scores to tail probabilities: how rare a score was in training.

Below a high quantile the training scores' own quantiles; above it a generalised-Pareto tail, fitted by probability-weighted
moments (Hosking and Wallis, "Parameter and quantile estimation for the generalized Pareto distribution", 1987).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from models.protocol import Floats

_LEVELS = np.concatenate([np.linspace(0, 0.9, 91), np.linspace(0.9, 0.999, 100)[1:]])
_TAIL_SHARE = 0.1
"""The part of training that the tail is fitted to."""
_FEWEST_EXCESSES = 10
_MARGIN = 10.0
_RAREST = 1e-12
"""No tail probability is smaller: nothing can be known about what is rarer."""


@dataclass(frozen=True, slots=True)
class Tail:
    """The distribution of one detector's scores on windows it was not fitted to.

    levels, quantiles: the body, both ascending without ties.  start, scale, shape: the generalised-Pareto tail, beyond `share` of training.
    margin: scores above the median count for 1/margin of their distance to it, because few windows know little about the tail.
    """

    levels: Floats
    quantiles: Floats
    median: float
    start: float
    share: float
    scale: float
    shape: float
    margin: float

    @classmethod
    def fit(cls, scores: Floats, independent: float) -> Self:
        """scores: [windows], finite, at least one.  independent: how many windows share no data with each other."""
        ordered = np.sort(scores)
        excesses = max(min(_FEWEST_EXCESSES, len(ordered)), int(_TAIL_SHARE * len(ordered)))
        start = float(ordered[-excesses])
        scale, shape = _pareto(ordered[-excesses:] - start)
        spread = float(np.quantile(ordered, 0.9) - np.median(ordered))
        scale = max(scale, 0.1 * spread, 1e-9 * max(1.0, abs(start)))
        share = excesses / len(ordered)
        quantiles, first = np.unique(np.quantile(ordered, _LEVELS), return_index=True)
        median = float(np.median(ordered))
        return cls(_LEVELS[first], quantiles, median, start, share, scale, shape, margin(independent))

    def probability(self, scores: Floats) -> Floats:
        """[windows]: the share of usual windows with at least that score, never 0."""
        beyond = np.maximum(scores - self.median, 0)
        scores = np.minimum(scores, self.median) + beyond / self.margin
        body = 1 - np.interp(scores, self.quantiles, self.levels)
        tail = self.share * self._survival(np.maximum(scores - self.start, 0))
        return np.clip(np.where(scores > self.start, np.minimum(tail, body), body), _RAREST, 1.0)

    def _survival(self, excess: Floats) -> Floats:
        if self.shape < 1e-6:
            return np.exp(-excess / self.scale)
        return np.asarray(np.power(1 + self.shape * excess / self.scale, -1 / self.shape))

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        fitted = (self.median, self.start, self.share, self.scale, self.shape, self.margin)
        return {"levels": self.levels, "quantiles": self.quantiles, "fitted": np.array(fitted)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        levels, quantiles, fitted = (
            arrays[name].astype(np.float64) for name in ("levels", "quantiles", "fitted")
        )
        return cls(levels, quantiles, *(float(value) for value in fitted))


def margin(independent: float) -> float:
    """By what factor a tail known from so many independent windows is stretched: 2.3 for a minute, 1.06 for a day."""
    return 1 + _MARGIN / float(np.sqrt(max(1.0, independent)))


def _pareto(excesses: Floats) -> tuple[float, float]:
    """(scale, shape) of ascending excesses; the shape is kept in [0, 0.5], so the tail neither ends nor explodes."""
    count = len(excesses)
    mean = float(excesses.mean())
    if count < 2 or mean <= 0:
        return mean, 0.0
    weights = (count - np.arange(1, count + 1)) / (count - 1)
    weighted = float((weights * excesses).mean())
    shape = 2 - mean / (mean - 2 * weighted) if mean > 2 * weighted else 0.5
    shape = float(np.clip(shape, 0, 0.5))
    return mean * (1 - shape), shape


def folds(
    windows: int, count: int, stretches: int, overlap: int
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """(rows to fit, rows held out) of each fold; rows that share data with a held-out one are not fitted.

    A fold holds out `stretches` contiguous stretches, spread over time: what lasts longer than one is known from its other
    part, as it will be to the model that is fitted to all, while what happens once and briefly is news.
    """
    edges = np.linspace(0, windows, count * stretches + 1).astype(int)
    stretch = np.searchsorted(edges, np.arange(windows), side="right") - 1
    for fold in range(count):
        held = stretch % count == fold
        near = np.convolve(held, np.ones(2 * overlap - 1), "same") > 0.5
        if held.any():
            yield np.flatnonzero(~near), np.flatnonzero(held)
