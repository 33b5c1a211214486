"""Standardising features: what is usual for each, and how far from it counts as one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hostsight.channel import Channel
from models.effects import smallest_effects
from models.protocol import Floats
from sql.schemas import FEATURE_NAMES

KNEE = 10.0
"""Beyond so many steps a feature counts by the logarithm: one wild column must not drown the others, nor be lost among them."""
STEPS_PER_EFFECT = 3.0
"""The smallest deviation that matters is at least so many steps."""
MEAN = FEATURE_NAMES.index("mean")


LEVELS = [FEATURE_NAMES.index(name) for name in ("mean", "min", "max")]


@dataclass(frozen=True, slots=True)
class Scaler:
    """centre, step: [channels, features]. A step is the standard deviation, or more where that says too little:

    - a third of the smallest effect (`models.effects`), or
    - what a level has drifted during training: it may do so once more before the next refit.
    """

    centre: Floats
    step: Floats

    @classmethod
    def fit(cls, values: NDArray[np.float32], channels: Sequence[Channel]) -> Self:
        """values: [windows, channels, features]; NaN is absent; a channel without any value has centre 0."""
        centre = _mean(values)
        spread = np.sqrt(_mean(np.square(values.astype(np.float64) - centre)))
        floor = smallest_effects(channels, centre[:, MEAN])[:, np.newaxis] / STEPS_PER_EFFECT
        step = np.maximum(spread, floor)
        step[:, LEVELS] = np.maximum(step[:, LEVELS], _drift(values)[:, LEVELS])
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


def _drift(values: NDArray[np.float32]) -> Floats:
    """How far each feature would move over the whole of training, judged by its two halves."""
    half = len(values) // 2
    before, after = values[:half], values[half:]
    both = np.isfinite(before).any(axis=0) & np.isfinite(after).any(axis=0)
    return np.where(both, 2 * np.abs(_mean(after) - _mean(before)), 0.0)


def compressed(steps: Floats) -> Floats:
    """Steps up to KNEE as they are, beyond it KNEE * (1 + ln(steps / KNEE))."""
    size = np.maximum(np.abs(steps), KNEE)
    return np.where(np.abs(steps) > KNEE, np.sign(steps) * KNEE * (1 + np.log(size / KNEE)), steps)


def columns(steps: Floats, kept: NDArray[np.intp]) -> Floats:
    """What detectors see: the kept channels' features side by side, compressed: [windows, kept * features]."""
    chosen = compressed(steps[:, kept])
    return np.ascontiguousarray(chosen.reshape(len(steps), len(kept) * len(FEATURE_NAMES)))
