"""The detectors; one more is a file and a line here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models.detector import Detector
from models.gaussian_mixture import GaussianMixture
from models.isolation_forest import IsolationForest
from models.layout import Layout
from models.mahalanobis import Mahalanobis
from models.nearest import Nearest
from models.neighbours import Neighbours
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


FeatureSet = Literal["usual", "short"]
"""By `models.layout`: every scale, or the shortest that has a spread."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A detector on certain features. roles: what its score is used for (`models.fusion`); all count for confidence."""

    name: str
    kind: type[Detector]
    sees: FeatureSet = "usual"
    roles: frozenset[Role] = frozenset()

    def features(self, layout: Layout) -> NDArray[np.intp]:
        """The columns of a channel that it sees."""
        return layout.usual() if self.sees == "usual" else layout.short()


ENTRIES = (
    Entry("zscore", ZScore),
    Entry("mahalanobis", Mahalanobis),
    Entry("isolation_forest", IsolationForest),
    Entry("gaussian_mixture", GaussianMixture),
    Entry("nearest", Nearest, "usual", frozenset({"opens", "ranks"})),
    Entry("nearest_short", Nearest, "short", frozenset({"opens"})),
    Entry("neighbours", Neighbours, "usual", frozenset({"guards", "ranks"})),
    Entry("neighbours_short", Neighbours, "short", frozenset({"guards", "ranks"})),
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
