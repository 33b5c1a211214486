"""The shapes that detection works on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from models.layout import Layout

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WindowBlock:
    """Consecutive windows of one host, dense.

    ends: int64 [windows], nanoseconds, ascending.  channels: int64 [channels], ids, ascending.
    values: float32 [windows, channels, features], features as `layout` says (without more: `sql.schemas.FEATURE_NAMES`);
    NaN is absent.
    """

    ends: NDArray[np.int64]
    channels: NDArray[np.int64]
    values: NDArray[np.float32]
    layout: Layout = field(default_factory=Layout)


class Detector(Protocol):
    """Scores standardised windows; higher is more anomalous. Deterministic, and a row's score depends on that row alone."""

    name: ClassVar[str]

    @classmethod
    def fit(cls, x: Floats, seed: int) -> Self:
        """x: [windows, columns], standardised, finite."""
        ...

    def score(self, x: Floats) -> Floats:
        """[windows]"""
        ...

    def contributions(self, x: Floats) -> Floats:
        """[windows, columns], not negative: how much each column adds to the score."""
        ...

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        """Everything `from_arrays` needs; no objects, so it is stored without pickle."""
        ...

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self: ...
