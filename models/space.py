"""Where windows are among the principal components, and which training windows are near: found once for all detectors.

Projection and distances go one window at a time and without BLAS, whose rounding depends on the batch and on its threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from models.principal import Principal
from models.protocol import Cells, Floats

NEIGHBOURS = 5
_EXPLAINED = 0.95
_MOST_WINDOWS = 2000
_CELLS = 6_000_000
"""Windows times columns that are remembered at most: 24 MB."""


@dataclass(frozen=True, slots=True)
class Space:
    """centre: [columns].  components: [components, columns], orthonormal, by falling variance.  remembered: [kept, components],
    places of evenly spaced training windows."""

    centre: Floats
    components: Floats
    remembered: Floats

    def place(self, window: Cells) -> Floats:
        """[components]"""
        return np.asarray(np.einsum("kc,c->k", self.components, window - self.centre))

    def nearest(self, place: Floats) -> tuple[NDArray[np.intp], Floats]:
        """(which, squared distances) of the nearest remembered windows, ascending by place in training."""
        away = self.remembered - place
        distance = np.einsum("nk,nk->n", away, away)
        reach = min(NEIGHBOURS, len(self.remembered))
        found = np.sort(np.argpartition(distance, reach - 1)[:reach])
        return found, distance[found]

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        return {"centre": self.centre, "components": self.components, "remembered": self.remembered}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        names = ("centre", "components", "remembered")
        return cls(*(np.ascontiguousarray(arrays[name], np.float64) for name in names))


@dataclass(frozen=True)
class View:
    """Windows as the detectors of one feature set see them. x: [windows, columns], standardised, finite."""

    x: Cells
    space: Space

    @cached_property
    def places(self) -> Floats:
        """[windows, components]"""
        out = np.empty((len(self.x), len(self.space.components)))
        for row, window in enumerate(self.x):
            out[row] = self.space.place(window)
        return out

    @cached_property
    def nearest(self) -> tuple[tuple[NDArray[np.intp], Floats], ...]:
        """Of each window, as `Space.nearest`."""
        return tuple(self.space.nearest(place) for place in self.places)


@dataclass(frozen=True, slots=True)
class Training:
    """What detectors learn from. x: [windows, columns], standardised, finite.  places: [windows, components]."""

    x: Cells
    space: Space
    principal: Principal
    places: Floats
    seed: int

    @classmethod
    def of(cls, x: Cells, seed: int) -> Self:
        principal = Principal.fit(x, seed)
        count = principal.leading(_EXPLAINED)
        places = principal.places(x, count)
        components = np.ascontiguousarray(principal.components[:count])
        space = Space(principal.centre, components, places[remembered(*x.shape)])
        return cls(x, space, principal, places, seed)


def remembered(windows: int, columns: int) -> NDArray[np.intp]:
    """Which training windows are kept: evenly spaced ones."""
    most = max(NEIGHBOURS, min(_MOST_WINDOWS, _CELLS // columns))
    return np.linspace(0, windows - 1, min(most, windows)).astype(np.intp)
