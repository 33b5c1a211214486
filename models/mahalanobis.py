"""Mahalanobis distance in a PCA subspace (Hotelling's T2) plus the squared prediction error outside it (SPE, Q).

Jackson and Mudholkar, "Control procedures for residuals associated with principal component analysis", 1979.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from models.protocol import Floats
from models.space import Training, View

_EXPLAINED = 0.9
"""Components are kept until they explain this share of the variance."""


@dataclass(frozen=True, slots=True)
class Mahalanobis:
    """Score: T2 per component plus SPE over its training mean; both are near 1 for usual windows.

    variances: [kept] of the first components, shrunk towards the mean variance outside.
    """

    name: ClassVar[str] = "mahalanobis"
    variances: Floats
    residual: float

    @classmethod
    def fit(cls, training: Training) -> Self:
        found, columns = training.principal, training.x.shape[1]
        kept = found.leading(_EXPLAINED)
        variances = found.variances[:kept]
        outside = max(found.total - float(variances.sum()), 1e-6 * columns)
        return cls(variances + outside / max(1, columns - kept), outside)

    def score(self, view: View) -> Floats:
        out = np.empty(len(view.x))
        for row, place in enumerate(view.places[:, : len(self.variances)]):
            along = np.square(place)
            outside = max(0.0, float(np.square(view.x[row] - view.space.centre).sum() - along.sum()))
            out[row] = float((along / self.variances).sum()) / max(1, len(place)) + outside / self.residual
        return out

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        return {"variances": self.variances, "residual": np.array([self.residual])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        variances, residual = (arrays[name].astype(np.float64) for name in ("variances", "residual"))
        return cls(variances, float(residual[0]))
