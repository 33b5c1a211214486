"""All detectors of one baseline, and the spaces that those on the same features share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from models.detector import Detector
from models.layout import Layout
from models.protocol import Floats
from models.registry import Entry, FeatureSet, entries, entry
from models.scaling import columns
from models.space import Space, Training, View


@dataclass(frozen=True, slots=True)
class Ensemble:
    """detectors: one an entry.  spaces: of the feature sets that they see."""

    entries: tuple[Entry, ...]
    detectors: tuple[Detector, ...]
    spaces: Mapping[FeatureSet, Space]

    @classmethod
    def fit(cls, cells: NDArray[np.float32], layout: Layout, seed: int) -> Self:
        """cells: compressed steps, [windows, kept channels, features of the layout]."""
        known = entries(layout)
        found: dict[str, Detector] = {}
        spaces: dict[FeatureSet, Space] = {}
        for seen, having in _by_features(known).items():
            training = Training.of(columns(cells, having[0].features(layout)), seed)
            found |= {each.name: each.kind.fit(training) for each in having}
            spaces[seen] = training.space
        return cls(known, tuple(found[each.name] for each in known), spaces)

    def score(self, cells: NDArray[np.float32], layout: Layout) -> Floats:
        """[windows, detectors]; cells as `fit` takes them."""
        found: dict[str, Floats] = {}
        own = dict(zip(self.entries, self.detectors, strict=True))
        for seen, having in _by_features(self.entries).items():
            view = View(columns(cells, having[0].features(layout)), self.spaces[seen])
            found |= {each.name: own[each].score(view) for each in having}
        return np.column_stack([found[each.name] for each in self.entries])

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        """Named by detector and by feature set."""
        found: dict[str, NDArray[np.generic]] = {}
        for known, each in zip(self.entries, self.detectors, strict=True):
            found |= {f"{known.name}/{name}": array for name, array in each.arrays().items()}
        for seen, space in self.spaces.items():
            found |= {f"space.{seen}/{name}": array for name, array in space.arrays().items()}
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]], names: Sequence[str]) -> Self:
        """Raises KeyError where an array or a detector is not known."""
        known = tuple(entry(name) for name in names)
        return cls(
            known,
            tuple(each.kind.from_arrays(part(arrays, each.name)) for each in known),
            {seen: Space.from_arrays(part(arrays, f"space.{seen}")) for seen in _by_features(known)},
        )


def part(arrays: Mapping[str, NDArray[np.generic]], name: str) -> dict[str, NDArray[np.generic]]:
    """The arrays whose names begin with `name/`, without that."""
    start = f"{name}/"
    return {key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)}


def _by_features(known: Sequence[Entry]) -> dict[FeatureSet, list[Entry]]:
    found: dict[FeatureSet, list[Entry]] = {}
    for each in known:
        found.setdefault(each.sees, []).append(each)
    return found
