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

_EXPLAINED = 0.9
"""Components are kept until they explain this share of the variance."""
_MOST_COMPONENTS = 64
_EXACT = 1200
"""Up to so many columns or windows the components are found exactly, beyond it by iteration."""
_SPARE = 16
_ITERATIONS = 6
_WINDOWS_PER_COMPONENT = 10
"""A direction that fewer windows than this stand behind is noise."""


@dataclass(frozen=True, slots=True)
class Mahalanobis:
    """Score: T2 per component plus SPE over its training mean; both are near 1 for usual windows.

    components: [kept, columns], orthonormal.  variances: [kept], shrunk towards the mean variance outside.
    """

    name: ClassVar[str] = "mahalanobis"
    centre: Floats
    components: Floats
    variances: Floats
    residual: float

    @classmethod
    def fit(cls, x: Floats, seed: int) -> Self:
        centre = x.mean(axis=0)
        centred = x - centre
        total = float(np.einsum("wc,wc->", centred, centred)) / len(x)
        variances, vectors = _principal(centred, seed)
        kept = _kept(variances, total, len(x), _EXPLAINED)
        outside = max(total - float(variances[:kept].sum()), 1e-6 * x.shape[1])
        shrunk = variances[:kept] + outside / max(1, x.shape[1] - kept)
        return cls(centre, np.ascontiguousarray(vectors[:kept]), shrunk, outside)

    def score(self, x: Floats) -> Floats:
        out = np.empty(len(x))
        for row, window in enumerate(x):
            scores, rest = self._split(window)
            out[row] = self._t2(scores) + np.square(rest).sum() / self.residual
        return out

    def contributions(self, x: Floats) -> Floats:
        """Each column's part of T2 (negative parts count as none) and of SPE."""
        out = np.empty(x.shape)
        kept = max(1, len(self.variances))
        for row, window in enumerate(x):
            scores, rest = self._split(window)
            part = (window - self.centre) * np.einsum("kc,k->c", self.components, scores / self.variances)
            out[row] = np.maximum(part, 0) / kept + np.square(rest) / self.residual
        return out

    def _t2(self, scores: Floats) -> float:
        return float((np.square(scores) / self.variances).sum()) / max(1, len(scores))

    def _split(self, window: Floats) -> tuple[Floats, Floats]:
        """One window at a time and without BLAS, whose rounding depends on the batch and on its threads."""
        centred = window - self.centre
        scores = np.einsum("kc,c->k", self.components, centred)
        return scores, centred - np.einsum("kc,k->c", self.components, scores)

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        return {
            "centre": self.centre,
            "components": self.components,
            "variances": self.variances,
            "residual": np.array([self.residual]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        centre, components, variances, residual = (
            np.ascontiguousarray(arrays[name], np.float64)
            for name in ("centre", "components", "variances", "residual")
        )
        return cls(centre, components, variances, float(residual[0]))


def principal_components(x: Floats, explained: float, seed: int) -> Floats:
    """[components, columns], orthonormal: as many as explain that share of the variance; none where nothing varies."""
    centred = x - x.mean(axis=0)
    total = float(np.einsum("wc,wc->", centred, centred)) / len(x)
    variances, vectors = _principal(centred, seed)
    return np.ascontiguousarray(vectors[: _kept(variances, total, len(x), explained)])


def _principal(centred: Floats, seed: int) -> tuple[Floats, Floats]:
    """(variances, directions as rows) of the leading components, descending."""
    windows, columns = centred.shape
    if min(windows, columns) > _EXACT:
        return _principal_by_iteration(centred, seed)
    if windows > columns:
        variances, vectors = np.linalg.eigh(centred.T @ centred / windows)
        return np.maximum(variances[::-1], 0), vectors.T[::-1]
    variances, left = np.linalg.eigh(centred @ centred.T / windows)
    return _from_left(centred, np.maximum(variances[::-1], 0), left[:, ::-1])


def _principal_by_iteration(centred: Floats, seed: int) -> tuple[Floats, Floats]:
    """The leading components of a large table, by randomised subspace iteration.

    Halko, Martinsson, Tropp, "Finding structure with randomness", SIAM Review 2011.
    """
    windows, columns = centred.shape
    basis = np.random.default_rng(seed).standard_normal((columns, _MOST_COMPONENTS + _SPARE))
    for _ in range(_ITERATIONS):
        basis, _ = np.linalg.qr(centred.T @ (centred @ basis))
    _, lengths, right = np.linalg.svd(centred @ basis, full_matrices=False)
    return np.square(lengths[:_MOST_COMPONENTS]) / windows, (right @ basis.T)[:_MOST_COMPONENTS]


def _from_left(centred: Floats, variances: Floats, left: Floats) -> tuple[Floats, Floats]:
    lengths = np.sqrt(variances * len(centred))
    directions = left.T @ centred / np.where(lengths > 0, lengths, 1)[:, np.newaxis]
    return variances, directions


def _kept(variances: Floats, total: float, windows: int, explained: float) -> int:
    if total <= 0:
        return 0
    wanted = int(np.searchsorted(np.cumsum(variances) / total, explained)) + 1
    real = int((variances > 1e-9 * total).sum())
    return max(1, min(wanted, real, _MOST_COMPONENTS, windows // _WINDOWS_PER_COMPONENT))
