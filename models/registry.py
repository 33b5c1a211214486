"""The detectors; one more is a file and a line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models.gaussian_mixture import GaussianMixture
from models.isolation_forest import IsolationForest
from models.layout import Layout
from models.mahalanobis import Mahalanobis
from models.nearest import Nearest
from models.neighbours import Neighbours
from models.protocol import Detector
from models.zscore import ZScore

DETECTORS: tuple[type[Detector], ...] = (
    ZScore,
    Mahalanobis,
    IsolationForest,
    GaussianMixture,
    Nearest,
    Neighbours,
)

Role = Literal["opens", "guards", "ranks"]
"""opens: episodes.  guards: opens them too, where the others are blind.  ranks: the rows of a recording."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A detector on certain features. roles: what its score is used for (`models.fusion`); all count for confidence."""

    name: str
    kind: type[Detector]
    features: Callable[[Layout], NDArray[np.intp]]
    roles: frozenset[Role] = frozenset()


ENTRIES = (
    Entry("zscore", ZScore, Layout.usual),
    Entry("mahalanobis", Mahalanobis, Layout.usual),
    Entry("isolation_forest", IsolationForest, Layout.usual),
    Entry("gaussian_mixture", GaussianMixture, Layout.usual),
    Entry("nearest", Nearest, Layout.usual, frozenset({"opens", "ranks"})),
    Entry("nearest_short", Nearest, Layout.short, frozenset({"opens"})),
    Entry("neighbours", Neighbours, Layout.usual, frozenset({"guards", "ranks"})),
    Entry("neighbours_short", Neighbours, Layout.short, frozenset({"guards", "ranks"})),
)


def entries(layout: Layout) -> tuple[Entry, ...]:
    """Those that differ with this layout: without longer windows all of a kind see the same."""
    found: dict[tuple[type[Detector], tuple[int, ...]], Entry] = {}
    for entry in ENTRIES:
        found.setdefault((entry.kind, tuple(entry.features(layout).tolist())), entry)
    return tuple(found.values())


def entry(name: str) -> Entry:
    """The entry of that name; raises KeyError."""
    return {known.name: known for known in ENTRIES}[name]
