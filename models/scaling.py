"""Standardising features: what is usual for each, and how far from it counts as one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hostsight.channel import Channel
from models.effects import smallest_effects
from models.layout import Layout
from models.protocol import Floats
from sql.schemas import FEATURE_NAMES

KNEE = 10.0
"""Beyond so many steps a feature counts by the logarithm: one wild column must not drown the others, nor be lost among them."""
STEPS_PER_EFFECT = 3.0
"""The smallest deviation that matters is at least so many steps."""
MEAN = FEATURE_NAMES.index("mean")
_LEVELS = ("mean", "min", "max")
_AT_ONCE = 32
"""Channels looked at in double precision at once."""
_OF_RANGE = 1e-3
"""Of an amount in no known unit, the smallest step: so much of the range it had in training, or of its level."""


@dataclass(frozen=True, slots=True)
class Scaler:
    """centre, step: [channels, features]. A step is the standard deviation, or more where that says too little:

    - a third of the smallest effect (`models.effects`), or
    - what a level has drifted during training: it may do so once more before the next refit.
    """

    centre: Floats
    step: Floats

    @classmethod
    def fit(cls, values: NDArray[np.float32], channels: Sequence[Channel], layout: Layout) -> Self:
        """values: [windows, channels, features] of the layout; NaN is absent; a channel without any value has centre 0."""
        centre = _mean(values)
        spread = _spread(values, centre)
        floor = np.repeat(_smallest(values, centre, channels)[:, np.newaxis], layout.width, axis=1)
        slopes = layout.columns("slope")
        floor[:, slopes] /= layout.seconds()[slopes]
        step = np.maximum(spread, floor)
        levels = np.concatenate([layout.columns(name) for name in _LEVELS])
        step[:, levels] = np.maximum(step[:, levels], _drift(values)[:, levels])
        if layout.daily:
            step[:, -1] /= _daily_weight(values, layout)
        return cls(centre, step)

    def steps(self, values: NDArray[np.float32]) -> Floats:
        """values as steps from usual, same shape, unclipped; what is absent is as expected: 0."""
        steps = (values.astype(np.float64) - self.centre) / self.step
        return np.where(np.isfinite(steps), steps, 0.0)

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        return {"centre": self.centre, "step": self.step}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        return cls(arrays["centre"].astype(np.float64), arrays["step"].astype(np.float64))


def _mean(values: NDArray[np.floating]) -> Floats:
    """Over the windows that have a value, 0 where none has."""
    present = np.isfinite(values)
    total = np.where(present, values, 0.0).sum(axis=0, dtype=np.float64)
    return np.asarray(total / np.maximum(present.sum(axis=0), 1))


def _spread(values: NDArray[np.float32], centre: Floats) -> Floats:
    """[channels, features]: the standard deviation about `centre`, a few channels at a time."""
    out = np.empty(centre.shape)
    for start in range(0, len(centre), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        out[some] = np.sqrt(_mean(np.square(values[:, some].astype(np.float64) - centre[some])))
    return out


def _smallest(values: NDArray[np.float32], centre: Floats, channels: Sequence[Channel]) -> Floats:
    """[channels]: the smallest step of a level."""
    steps = smallest_effects(channels, centre[:, MEAN]) / STEPS_PER_EFFECT
    unknown = np.array([not channel.unit for channel in channels], bool)
    if unknown.any():
        levels = values[:, unknown, MEAN].astype(np.float64)
        largest, smallest = (np.nan_to_num(edge(levels, axis=0)) for edge in (np.fmax.reduce, np.fmin.reduce))
        reach = np.maximum(largest - smallest, np.abs(centre[unknown, MEAN]))
        steps[unknown] = _OF_RANGE * np.where(reach > 0, reach, 1.0)
    return steps


def _daily_weight(values: NDArray[np.float32], layout: Layout) -> Floats:
    """[channels], above 0 to 1: the share of a level's variance that its level at this time of other days explains."""
    level = values[:, :, layout.columns("mean")[1]].astype(np.float64)
    rest = np.where(np.isfinite(values[:, :, -1]), values[:, :, -1], np.nan).astype(np.float64)
    known = np.where(np.isfinite(rest), level, np.nan)
    unexplained = _variance(rest) / np.maximum(_variance(known), 1e-30)
    return np.asarray(np.clip(1 - unexplained, 1e-6, 1.0))


def _variance(values: Floats) -> Floats:
    return _mean(np.square(values - _mean(values)))


def _drift(values: NDArray[np.float32]) -> Floats:
    """How far each feature would move over the whole of training, judged by its two halves."""
    half = len(values) // 2
    before, after = values[:half], values[half:]
    both = np.isfinite(before).any(axis=0) & np.isfinite(after).any(axis=0)
    return np.where(both, 2 * np.abs(_mean(after) - _mean(before)), 0.0)


def compressed(steps: Floats) -> Floats:
    """Steps up to KNEE as they are, beyond it KNEE * (1 + ln(steps / KNEE))."""
    out = steps.copy()
    far = np.abs(steps) > KNEE
    out[far] = np.sign(steps[far]) * KNEE * (1 + np.log(np.abs(steps[far]) / KNEE))
    return out


def columns(steps: NDArray[np.float32], features: NDArray[np.intp]) -> NDArray[np.float32]:
    """What a detector sees: those features of each channel side by side: [windows, channels * features]."""
    first, last = int(features[0]), int(features[-1])
    run = last - first + 1 == len(features)
    part = steps[:, :, first : last + 1] if run else steps[:, :, features]
    return np.ascontiguousarray(part).reshape(len(steps), steps.shape[1] * len(features))
