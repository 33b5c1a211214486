"""From the detectors' scores to one: how rare a window is, and what ranks windows.

Episodes are opened by the distance to the nearest training windows. That is blind where training did not vary, so a window also
counts whose unexplained rest is beyond a level at which training, by that alone, would not have opened a single episode.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from hostsight.settings import DetectSettings
from models.budget import alarm_threshold, quiet_level
from models.calibration import Tail
from models.protocol import Floats
from models.registry import Entry, Role

_ROLES: tuple[Role, Role] = ("opens", "guards")
_LEAST_SCORE = 1e-9


@dataclass(frozen=True, slots=True)
class Voice:
    """One score's tail in training, and the tail probability from which it calls a window anomalous."""

    tail: Tail
    threshold: float


@dataclass(frozen=True, slots=True)
class Fusion:
    """opening: on the distances, within the alert budget.  guarding: on the rest, which may open nothing in training."""

    opening: Voice
    guarding: Voice

    @classmethod
    def fit(
        cls,
        scores: Floats,
        known: Sequence[Entry],
        independent: float,
        ends: NDArray[np.int64],
        settings: DetectSettings,
    ) -> Self:
        """scores: [windows, detectors], of windows that the detectors were not fitted to, ascending by `ends`.

        independent: how many of them share no data with each other.
        """

        def voice(own: Floats, level: float) -> Voice:
            tail = Tail.fit(own, independent)
            return Voice(tail, alarm_threshold(tail, level, ends, settings))

        distances, rest = (_mean(scores, known, role) for role in _ROLES)
        none = msgspec.structs.replace(settings, alert_budget=0.0)
        return cls(
            voice(distances, quiet_level(distances, ends, settings)),
            voice(rest, quiet_level(rest, ends, none)),
        )

    @property
    def threshold(self) -> float:
        """The tail probability from which a window is anomalous."""
        return self.opening.threshold

    def probability(self, scores: Floats, known: Sequence[Entry]) -> Floats:
        """[windows, detectors] -> [windows]: the smaller tail probability of the two, in which both have one threshold."""
        distances, rest = (_mean(scores, known, role) for role in _ROLES)
        alike = self.opening.threshold / self.guarding.threshold
        return np.asarray(
            np.minimum(self.opening.tail.probability(distances), self.guarding.tail.probability(rest) * alike)
        )

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        found: dict[str, NDArray[np.generic]] = {
            "thresholds": np.array([self.opening.threshold, self.guarding.threshold])
        }
        for name, voice in (("opening", self.opening), ("guarding", self.guarding)):
            found |= {f"{name}.{key}": array for key, array in voice.tail.arrays().items()}
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        opening, guarding = (
            Tail.from_arrays(
                {
                    key.removeprefix(f"{name}."): array
                    for key, array in arrays.items()
                    if key.startswith(f"{name}.")
                }
            )
            for name in ("opening", "guarding")
        )
        first, second = arrays["thresholds"].astype(np.float64).tolist()
        return cls(Voice(opening, first), Voice(guarding, second))


def mean_logarithm(scores: Floats, known: Sequence[Entry], role: Role) -> Floats:
    """[windows, detectors] -> [windows], over the detectors that have the role."""
    having = [index for index, each in enumerate(known) if role in each.roles]
    logarithms = np.log(np.maximum(np.ascontiguousarray(scores[:, having]), _LEAST_SCORE))
    return np.asarray(logarithms.mean(axis=1))


def _mean(scores: Floats, known: Sequence[Entry], role: Role) -> Floats:
    """The geometric mean."""
    return np.asarray(np.exp(mean_logarithm(scores, known, role)))
