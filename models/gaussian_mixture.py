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

from models.protocol import Floats
from models.space import Training, View

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

    means: [mixed, dimensions], along the first components.
    whitening: [mixed, dimensions, dimensions], of which a place less the mean is multiplied to unit variance.
    constants: [mixed], log weight and log determinant.
    """

    name: ClassVar[str] = "gaussian_mixture"
    means: Floats
    whitening: Floats
    constants: Floats

    @classmethod
    def fit(cls, training: Training) -> Self:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.mixture import GaussianMixture as Mixture

        windows = len(training.x)
        dimensions = min(_MOST_DIMENSIONS, training.principal.leading(_EXPLAINED))
        rows = np.linspace(0, windows - 1, min(windows, _MOST_WINDOWS)).astype(np.intp)
        places = _along(training.places[rows], dimensions)
        mixed = max(1, min(_MIXED, windows // _WINDOWS_EACH))
        mixture = Mixture(
            mixed, reg_covar=_SHRINKAGE, random_state=training.seed, init_params="k-means++", max_iter=200
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the best found so far will do
            mixture.fit(places)
        whitening = np.ascontiguousarray(np.swapaxes(mixture.precisions_cholesky_, 1, 2))
        spread = np.log(np.diagonal(whitening, axis1=1, axis2=2)).sum(axis=1)
        constants = np.log(mixture.weights_) + spread - 0.5 * places.shape[1] * np.log(2 * np.pi)
        return cls(mixture.means_, whitening, constants)

    def score(self, view: View) -> Floats:
        out = np.empty(len(view.x))
        for row, place in enumerate(_along(view.places, self.means.shape[1])):
            out[row] = -np.logaddexp.reduce(self._log_densities(place))
        return out

    def _log_densities(self, place: Floats) -> Floats:
        white = np.einsum("mkj,mj->mk", self.whitening, place - self.means)
        return np.asarray(self.constants - 0.5 * np.square(white).sum(axis=1))

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        return {
            "means": self.means,
            "whitening": self.whitening,
            "constants": self.constants,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        names = ("means", "whitening", "constants")
        return cls(*(np.ascontiguousarray(arrays[name], np.float64) for name in names))


def _along(places: Floats, dimensions: int) -> Floats:
    """[windows, dimensions] of the first components; 0 on the one dimension of training that did not vary."""
    found = places[:, :dimensions]
    return found if found.shape[1] else np.zeros((len(places), 1))
