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

from models.mahalanobis import principal_components
from models.protocol import Floats

_NEIGHBOURS = 5
_MOST_WINDOWS = 2000
_CELLS = 6_000_000
"""Windows times columns that are kept at most: 24 MB."""
_EXPLAINED = 0.95


@dataclass(frozen=True, slots=True)
class Neighbours:
    """windows: float32 [kept, columns], evenly spaced training windows.  components: [components, columns].

    places: [kept, components], the windows among the components.
    """

    name: ClassVar[str] = "neighbours"
    windows: NDArray[np.float32]
    components: Floats
    places: Floats

    @classmethod
    def fit(cls, x: Floats, seed: int) -> Self:
        most = max(_NEIGHBOURS, min(_MOST_WINDOWS, _CELLS // x.shape[1]))
        rows = np.linspace(0, len(x) - 1, min(most, len(x))).astype(np.intp)
        windows = x[rows].astype(np.float32)
        return cls._of(windows, principal_components(x, _EXPLAINED, seed))

    @classmethod
    def _of(cls, windows: NDArray[np.float32], components: Floats) -> Self:
        places = np.array([_project(components, window) for window in windows.astype(np.float64)])
        return cls(windows, components, places.reshape(len(windows), len(components)))

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
        """One window at a time and without BLAS, whose rounding depends on the batch and on its threads."""
        away = self.places - _project(self.components, window)
        distance = np.einsum("nk,nk->n", away, away)
        nearest = np.sort(np.argpartition(distance, self._reach)[:_NEIGHBOURS])
        return np.asarray(window - self.windows[nearest].mean(axis=0, dtype=np.float64))

    @property
    def _reach(self) -> int:
        return min(_NEIGHBOURS, len(self.windows)) - 1

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        return {"windows": self.windows, "components": self.components}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        components = np.ascontiguousarray(arrays["components"], np.float64)
        return cls._of(np.ascontiguousarray(arrays["windows"], np.float32), components)


def _project(components: Floats, window: Floats) -> Floats:
    return np.asarray(np.einsum("kc,c->k", components, window))
