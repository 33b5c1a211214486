"""What every detector does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from models.protocol import Floats
from models.space import Training, View


class Detector(Protocol):
    """Scores standardised windows; higher is more anomalous. Deterministic, and a row's score depends on that row alone."""

    name: ClassVar[str]

    @classmethod
    def fit(cls, training: Training) -> Self: ...

    def score(self, view: View) -> Floats:
        """[windows]"""
        ...

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        """Everything `from_arrays` needs beside the space; no objects, so it is stored without pickle."""
        ...

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self: ...
