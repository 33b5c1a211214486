"""How near the closest training windows are, among the leading principal components."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from models.mahalanobis import principal_components
from models.protocol import Floats

NEIGHBOURS = 5
_MOST_WINDOWS = 2000
_CELLS = 6_000_000
"""Windows times columns that are kept at most: 24 MB."""
_EXPLAINED = 0.95


def kept_windows(x: Floats) -> NDArray[np.intp]:
    """Which training windows are remembered: evenly spaced ones."""
    most = max(NEIGHBOURS, min(_MOST_WINDOWS, _CELLS // x.shape[1]))
    return np.linspace(0, len(x) - 1, min(most, len(x))).astype(np.intp)


@dataclass(frozen=True, slots=True)
class Places:
    """Where training windows are. components: [components, columns].  windows: [kept, components]."""

    components: Floats
    windows: Floats

    @classmethod
    def fit(cls, x: Floats, seed: int) -> Self:
        return cls.of(x[kept_windows(x)], principal_components(x, _EXPLAINED, seed))

    @classmethod
    def of(cls, windows: Floats, components: Floats) -> Self:
        """windows: [kept, columns], as they are."""
        places = np.array([_project(components, window) for window in windows])
        return cls(components, places.reshape(len(windows), len(components)))

    def nearest(self, window: Floats) -> tuple[NDArray[np.intp], Floats]:
        """(which, squared distances) of the nearest kept windows, ascending by place in training.

        One window at a time and without BLAS, whose rounding depends on the batch and on its threads.
        """
        away = self.windows - _project(self.components, window)
        distance = np.einsum("nk,nk->n", away, away)
        reach = min(NEIGHBOURS, len(self.windows))
        found = np.sort(np.argpartition(distance, reach - 1)[:reach])
        return found, distance[found]

    def towards(self, window: Floats) -> Floats:
        """[components]: from the middle of the nearest kept windows to this one."""
        found, _ = self.nearest(window)
        return np.asarray(_project(self.components, window) - self.windows[found].mean(axis=0))


@dataclass(frozen=True, slots=True)
class Nearest:
    """Score: the square of the mean distance to the nearest training windows, a column. What the components leave out is not seen.

    It opens episodes: a window that is like some of training stays low here even where noise that training has no second of
    adds up in all columns, and on labelled servers that is what tells short incidents from bursts of healthy load.
    """

    name: ClassVar[str] = "nearest"
    places: Places

    @classmethod
    def fit(cls, x: Floats, seed: int) -> Self:
        return cls(Places.fit(x, seed))

    def score(self, x: Floats) -> Floats:
        out = np.empty(len(x))
        for row, window in enumerate(x):
            _, squared = self.places.nearest(window)
            out[row] = np.square(np.sqrt(squared).mean()) / x.shape[1]
        return out

    def contributions(self, x: Floats) -> Floats:
        """The squared difference to the middle of the nearest windows, by the columns that make it up."""
        out = np.empty(x.shape)
        for row, window in enumerate(x):
            along = np.einsum("kc,k->c", self.places.components, self.places.towards(window))
            out[row] = np.square(along) / x.shape[1]
        return out

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        return {"components": self.places.components, "places": self.places.windows}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        components, places = (
            np.ascontiguousarray(arrays[name], np.float64) for name in ("components", "places")
        )
        return cls(Places(components, places))


def _project(components: Floats, window: Floats) -> Floats:
    return np.asarray(np.einsum("kc,c->k", components, window))
