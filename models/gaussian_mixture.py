"""Gaussian mixture over the leading principal components, as in eACGM: windows of low likelihood are anomalous.

Each regime of training (idle, a training step, data loading) becomes a component of its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from models.mahalanobis import principal_components
from models.protocol import Floats

_EXPLAINED = 0.9
_MOST_DIMENSIONS = 10
_MIXED = 4
_WINDOWS_EACH = 50
"""A component needs so many windows to be told from chance."""
_MOST_WINDOWS = 5000
_SHRINKAGE = 1e-2
"""Added to every variance, in squared steps."""


@dataclass(frozen=True, slots=True)
class GaussianMixture:
    """Score: minus the log likelihood of the window's place among the components.

    centre: [columns].  components: [dimensions, columns].  means: [mixed, dimensions].
    whitening: [mixed, dimensions, dimensions], of which a place less the mean is multiplied to unit variance.
    constants: [mixed], log weight and log determinant.
    """

    name: ClassVar[str] = "gaussian_mixture"
    centre: Floats
    components: Floats
    means: Floats
    whitening: Floats
    constants: Floats

    @classmethod
    def fit(cls, x: Floats, seed: int) -> Self:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.mixture import GaussianMixture as Mixture

        centre = x.mean(axis=0)
        found = principal_components(x, _EXPLAINED, seed)[:_MOST_DIMENSIONS]
        components = found if len(found) else np.eye(1, x.shape[1])
        rows = np.linspace(0, len(x) - 1, min(len(x), _MOST_WINDOWS)).astype(np.intp)
        places = (x[rows] - centre) @ components.T
        mixed = max(1, min(_MIXED, len(x) // _WINDOWS_EACH))
        mixture = Mixture(
            mixed, reg_covar=_SHRINKAGE, random_state=seed, init_params="k-means++", max_iter=200
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the best found so far will do
            mixture.fit(places)
        whitening = np.ascontiguousarray(np.swapaxes(mixture.precisions_cholesky_, 1, 2))
        spread = np.log(np.diagonal(whitening, axis1=1, axis2=2)).sum(axis=1)
        dimensions = places.shape[1]
        constants = np.log(mixture.weights_) + spread - 0.5 * dimensions * np.log(2 * np.pi)
        return cls(centre, components, mixture.means_, whitening, constants)

    def score(self, x: Floats) -> Floats:
        out = np.empty(len(x))
        for row, window in enumerate(x):
            out[row] = -np.logaddexp.reduce(self._log_densities(self._place(window)))
        return out

    def contributions(self, x: Floats) -> Floats:
        """The squared distance to the likeliest component's mean, by the columns that make it up."""
        out = np.empty(x.shape)
        for row, window in enumerate(x):
            place = self._place(window)
            likeliest = int(self._log_densities(place).argmax())
            away = place - self.means[likeliest]
            white = np.einsum("kj,j->k", self.whitening[likeliest], away)
            gradient = np.einsum("kj,k->j", self.whitening[likeliest], white)
            out[row] = np.square(np.einsum("kc,k->c", self.components, gradient))
        return out

    def _place(self, window: Floats) -> Floats:
        """One window at a time and without BLAS, whose rounding depends on the batch and on its threads."""
        return np.asarray(np.einsum("kc,c->k", self.components, window - self.centre))

    def _log_densities(self, place: Floats) -> Floats:
        white = np.einsum("mkj,mj->mk", self.whitening, place - self.means)
        return np.asarray(self.constants - 0.5 * np.square(white).sum(axis=1))

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        return {
            "centre": self.centre,
            "components": self.components,
            "means": self.means,
            "whitening": self.whitening,
            "constants": self.constants,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        names = ("centre", "components", "means", "whitening", "constants")
        return cls(*(np.ascontiguousarray(arrays[name], np.float64) for name in names))
