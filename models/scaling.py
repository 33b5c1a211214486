"""Standardising features: what is usual for each, and how far from it counts as one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hostsight.channel import Channel
from models.effects import effect
from models.protocol import Floats
from sql.schemas import FEATURE_NAMES

CLIP = 10.0
"""No feature counts as further from usual than this many steps: one wild column must not drown the others."""
STEPS_PER_EFFECT = 3.0
"""The smallest deviation that matters is at least so many steps."""
MEAN = FEATURE_NAMES.index("mean")


@dataclass(frozen=True, slots=True)
class Scaler:
    """centre, step: [channels, features]. A step is the standard deviation, or a third of the smallest effect if that is more."""

    centre: Floats
    step: Floats

    @classmethod
    def fit(cls, values: NDArray[np.float32], channels: Sequence[Channel]) -> Self:
        """values: [windows, channels, features]; NaN is absent; a channel without any value has centre 0."""
        present = np.isfinite(values)
        count = np.maximum(present.sum(axis=0), 1)
        filled = np.where(present, values, 0.0)
        centre = filled.sum(axis=0) / count
        deviation = np.where(present, values - centre, 0.0)
        spread = np.sqrt(np.square(deviation).sum(axis=0) / count)
        effects = [
            effect(channel).at(level) for channel, level in zip(channels, centre[:, MEAN], strict=True)
        ]
        floor = np.array(effects, np.float64)[:, np.newaxis] / STEPS_PER_EFFECT
        return cls(centre, np.maximum(spread, floor))

    def steps(self, values: NDArray[np.float32]) -> Floats:
        """values as steps from usual, same shape, unclipped; what is absent is as expected: 0."""
        steps = (values.astype(np.float64) - self.centre) / self.step
        return np.where(np.isfinite(steps), steps, 0.0)

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        return {"centre": self.centre, "step": self.step}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        return cls(arrays["centre"].astype(np.float64), arrays["step"].astype(np.float64))


def columns(steps: Floats, kept: NDArray[np.intp]) -> Floats:
    """What detectors see: the kept channels' features side by side, clipped: [windows, kept * features]."""
    chosen = np.clip(steps[:, kept], -CLIP, CLIP)
    return np.ascontiguousarray(chosen.reshape(len(steps), len(kept) * len(FEATURE_NAMES)))
