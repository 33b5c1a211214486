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

from models.nearest import Places, kept_windows
from models.protocol import Floats


@dataclass(frozen=True, slots=True)
class Neighbours:
    """windows: float32 [kept, columns], evenly spaced training windows.  places: where they are."""

    name: ClassVar[str] = "neighbours"
    windows: NDArray[np.float32]
    places: Places

    @classmethod
    def fit(cls, x: Floats, seed: int) -> Self:
        return cls(x[kept_windows(x)].astype(np.float32), Places.fit(x, seed))

    def score(self, x: Floats) -> Floats:
        out = np.empty(len(x))
        for row, window in enumerate(x):
            out[row] = np.square(self._unexplained(window)).mean()
        return out

    def contributions(self, x: Floats) -> Floats:
        out = np.empty(x.shape)
        for row, window in enumerate(x):
            out[row] = np.square(self._unexplained(window)) / x.shape[1]
        return out

    def _unexplained(self, window: Floats) -> Floats:
        found, _ = self.places.nearest(window)
        return np.asarray(window - self.windows[found].mean(axis=0, dtype=np.float64))

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        return {"windows": self.windows, "components": self.places.components, "places": self.places.windows}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        components, places = (
            np.ascontiguousarray(arrays[name], np.float64) for name in ("components", "places")
        )
        return cls(np.ascontiguousarray(arrays["windows"], np.float32), Places(components, places))
