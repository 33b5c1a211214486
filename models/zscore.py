"""Mean absolute z-score: how far the window's features are from usual, on average."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from models.protocol import Floats
from models.space import Training, View


@dataclass(frozen=True, slots=True)
class ZScore:
    """Mean |x - centre| over the columns, which are already in standard deviations."""

    name: ClassVar[str] = "zscore"
    centre: Floats

    @classmethod
    def fit(cls, training: Training) -> Self:
        return cls(training.principal.centre)

    def score(self, view: View) -> Floats:
        distance = np.ascontiguousarray(np.abs(view.x - self.centre))
        return np.asarray(distance.mean(axis=1))

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        return {"centre": self.centre}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        return cls(arrays["centre"].astype(np.float64))
