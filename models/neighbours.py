"""Distance to what the nearest training windows were like: a window is unusual if no stretch of training resembles it.

The neighbours are found among the leading principal components; the score is what of the window they do not explain, in all
columns: the mean squared difference to their mean. On labelled servers it ranked incidents better than all detectors here
that describe training by one shape or a few.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from models.protocol import Floats
from models.space import Training, View, remembered


@dataclass(frozen=True, slots=True)
class Neighbours:
    """windows: float32 [kept, columns], the training windows that the space remembers."""

    name: ClassVar[str] = "neighbours"
    windows: NDArray[np.float32]

    @classmethod
    def fit(cls, training: Training) -> Self:
        return cls(training.x[remembered(*training.x.shape)].astype(np.float32, copy=False))

    def score(self, view: View) -> Floats:
        out = np.empty(len(view.x))
        for row, (found, _) in enumerate(view.nearest):
            unexplained = view.x[row] - self.windows[found].mean(axis=0, dtype=np.float64)
            out[row] = np.square(unexplained).mean()
        return out

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        return {"windows": self.windows}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        return cls(np.ascontiguousarray(arrays["windows"], np.float32))
