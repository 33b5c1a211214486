"""Leading principal components of a table, found without a copy of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from models.protocol import Cells, Floats

MOST_COMPONENTS = 64
_EXACT = 1200
"""Up to so many columns or windows the components are found exactly, beyond it by iteration."""
_SPARE = 16
_ITERATIONS = 6
_WINDOWS_PER_COMPONENT = 10
"""A direction that fewer windows than this stand behind is noise."""
_AT_ONCE = 256
"""Rows or columns that are centred at once."""


@dataclass(frozen=True, slots=True)
class Principal:
    """centre: [columns].  components: [found, columns], orthonormal, by falling `variances`: [found].

    total: the variance of all columns together.  windows: how many it was found from.
    """

    centre: Floats
    components: Floats
    variances: Floats
    total: float
    windows: int

    @classmethod
    def fit(cls, x: Cells, seed: int) -> Self:
        """x: [windows, columns], finite, at least one window."""
        centre = x.mean(axis=0, dtype=np.float64)
        total = sum(float(np.square(part).sum()) for _, part in _rows(x, centre)) / len(x)
        large = min(x.shape) > _EXACT
        variances, components = _by_iteration(x, centre, seed) if large else _exact(x, centre)
        return cls(centre, components, variances, total, len(x))

    def leading(self, explained: float) -> int:
        """How many components explain that share of the variance; none where nothing varies."""
        if self.total <= 0:
            return 0
        wanted = int(np.searchsorted(np.cumsum(self.variances) / self.total, explained)) + 1
        real = int((self.variances > 1e-9 * self.total).sum())
        return max(1, min(wanted, real, MOST_COMPONENTS, self.windows // _WINDOWS_PER_COMPONENT))

    def places(self, x: Cells, count: int) -> Floats:
        """[windows, count]: where training windows are along the first components."""
        parts = [part @ self.components[:count].T for _, part in _rows(x, self.centre)]
        return np.concatenate(parts)


def _rows(x: Cells, centre: Floats) -> Iterator[tuple[slice, Floats]]:
    """Some windows at a time, centred."""
    for start in range(0, len(x), _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        yield rows, x[rows] - centre


def _columns(x: Cells, centre: Floats) -> Iterator[tuple[slice, Floats]]:
    """Some columns at a time, centred."""
    for start in range(0, x.shape[1], _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        yield some, x[:, some] - centre[some]


def _exact(x: Cells, centre: Floats) -> tuple[Floats, Floats]:
    """(variances, directions as rows) of the leading components, descending."""
    windows, columns = x.shape
    products = np.zeros((min(x.shape), min(x.shape)))
    if windows > columns:
        for _, part in _rows(x, centre):
            products += part.T @ part
        variances, vectors = np.linalg.eigh(products / windows)
        return _first(variances), np.ascontiguousarray(vectors.T[::-1][:MOST_COMPONENTS])
    for _, part in _columns(x, centre):
        products += part @ part.T
    variances, left = np.linalg.eigh(products / windows)
    kept, left = _first(variances), left.T[::-1][:MOST_COMPONENTS]
    lengths = np.sqrt(kept * windows)[:, np.newaxis]
    components = np.empty((len(kept), columns))
    for some, part in _columns(x, centre):
        components[:, some] = left @ part / np.where(lengths > 0, lengths, 1)
    return kept, components


def _first(ascending: Floats) -> Floats:
    return np.maximum(ascending[::-1][:MOST_COMPONENTS], 0)


def _by_iteration(x: Cells, centre: Floats, seed: int) -> tuple[Floats, Floats]:
    """The leading components of a large table, by randomised subspace iteration in the precision of `x`.

    Halko, Martinsson, Tropp, "Finding structure with randomness", SIAM Review 2011.
    """
    windows, columns = x.shape
    middle: NDArray[np.floating] = centre.astype(x.dtype)
    drawn = np.random.default_rng(seed).standard_normal((columns, MOST_COMPONENTS + _SPARE))
    basis: NDArray[np.floating] = drawn.astype(x.dtype)
    for _ in range(_ITERATIONS):
        along: NDArray[np.floating] = x @ basis - middle @ basis
        if windows < columns:
            along = _orthonormal(along)
        basis = x.T @ along - np.outer(middle, along.sum(axis=0))
        if windows >= columns:
            basis = _orthonormal(basis)
    exact = _orthonormal(_orthonormal(basis.astype(np.float64)))
    products = np.zeros((exact.shape[1], exact.shape[1]))
    for _, part in _rows(x, centre):
        along = part @ exact
        products += along.T @ along
    variances, turned = np.linalg.eigh(products / windows)
    return _first(variances), np.ascontiguousarray((exact @ turned[:, ::-1]).T[:MOST_COMPONENTS])


def _orthonormal(tall: NDArray[np.floating]) -> NDArray[np.floating]:
    """Columns that span the same, by products of matrices alone: LAPACK's QR waits for its threads at every column."""
    exact = tall.astype(np.float64, copy=False)
    lengths, turned = np.linalg.eigh(exact.T @ exact)
    scaled = turned / np.sqrt(np.maximum(lengths, max(1e-14 * lengths[-1], 1e-300)))
    return np.asarray(exact @ scaled, tall.dtype)
