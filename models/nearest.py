"""How near the closest training windows are, among the leading principal components."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from models.protocol import Floats
from models.space import Training, View


@dataclass(frozen=True, slots=True)
class Nearest:
    """Score: the square of the mean distance to the nearest training windows, a column. What the components leave out is not seen.

    It opens episodes: a window that is like some of training stays low here even where noise that training has no second of
    adds up in all columns, and on labelled servers that is what tells short incidents from bursts of healthy load.
    All it learns is in the space.
    """

    name: ClassVar[str] = "nearest"

    @classmethod
    def fit(cls, training: Training) -> Self:
        return cls()

    def score(self, view: View) -> Floats:
        distance = np.array([np.sqrt(squared).mean() for _, squared in view.nearest])
        return np.asarray(np.square(distance) / view.x.shape[1], np.float64)

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        return {}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        return cls()
