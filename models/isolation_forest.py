"""Isolation Forest: windows that few random splits set apart are anomalous.

Liu, Ting, Zhou, "Isolation Forest", ICDM 2008. scikit-learn grows the trees; scoring walks them as arrays, which takes a
hundredth of the time for one window and needs neither scikit-learn nor pickle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from models.protocol import Cells, Floats
from models.space import Training, View

_TREES = 100
_SAMPLES = 256
_CHUNK = 4096
"""Windows walked at once."""


@dataclass(frozen=True, slots=True)
class IsolationForest:
    """All trees' nodes in one row of arrays; a leaf is its own child.

    feature, threshold, left, right, depth: [nodes]; depth is the expected path length to the node.  roots: [trees].
    usual: the average path length of the training sample. Score: 2 ** (-mean depth / usual), between 0 and 1.
    """

    name: ClassVar[str] = "isolation_forest"
    feature: NDArray[np.int32]
    threshold: Floats
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    depth: Floats
    roots: NDArray[np.int32]
    usual: float

    @classmethod
    def fit(cls, training: Training) -> Self:
        from sklearn.ensemble import IsolationForest as Grower

        samples = min(_SAMPLES, len(training.x))
        grower = Grower(n_estimators=_TREES, max_samples=samples, random_state=training.seed, n_jobs=1)
        grower.fit(training.x.astype(np.float32, copy=False))
        trees = [estimator.tree_ for estimator in grower.estimators_]
        sizes = np.array([tree.node_count for tree in trees])
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
        parts = [_nodes(tree, int(root)) for tree, root in zip(trees, roots, strict=True)]
        feature, threshold, left, right, depth = (
            np.concatenate(column) for column in zip(*parts, strict=True)
        )
        usual = float(average_path_length(np.array([grower.max_samples_]))[0])
        return cls(feature, threshold, left, right, depth, roots, usual)

    def score(self, view: View) -> Floats:
        return np.concatenate([np.empty(0), *(self._score(chunk) for chunk in _chunks(view.x))])

    def _score(self, x: NDArray[np.float32]) -> Floats:
        return self._from_depth(np.ascontiguousarray(self.depth[self._leaves(x)]).mean(axis=1))

    def _from_depth(self, depth: Floats) -> Floats:
        return np.asarray(np.exp2(-depth / self.usual)) if self.usual > 0 else np.full(len(depth), 0.5)

    def _leaves(self, x: NDArray[np.float32]) -> NDArray[np.int32]:
        """[windows, trees]: the nodes at which the ways from the roots end."""
        nodes = np.broadcast_to(self.roots, (len(x), len(self.roots)))
        rows = np.arange(len(x))[:, np.newaxis]
        while True:
            below = x[rows, self.feature[nodes]] <= self.threshold[nodes]
            after = np.where(below, self.left[nodes], self.right[nodes])
            if np.array_equal(after, nodes):
                return nodes
            nodes = after

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        return {
            "feature": self.feature,
            "threshold": self.threshold,
            "left": self.left,
            "right": self.right,
            "depth": self.depth,
            "roots": self.roots,
            "usual": np.array([self.usual]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        feature, left, right, roots = (
            arrays[name].astype(np.int32) for name in ("feature", "left", "right", "roots")
        )
        threshold, depth = (arrays[name].astype(np.float64) for name in ("threshold", "depth"))
        return cls(
            feature, threshold, left, right, depth, roots, float(arrays["usual"].astype(np.float64)[0])
        )


def _chunks(x: Cells) -> Iterator[NDArray[np.float32]]:
    """As float32, which is what the trees were grown on."""
    for start in range(0, len(x), _CHUNK):
        yield x[start : start + _CHUNK].astype(np.float32, copy=False)


class _Tree:
    """What is read of scikit-learn's tree."""

    feature: NDArray[np.intp]
    threshold: Floats
    children_left: NDArray[np.intp]
    children_right: NDArray[np.intp]
    n_node_samples: NDArray[np.intp]
    node_count: int


def _nodes(tree: _Tree, root: int) -> tuple[NDArray[np.generic], ...]:
    own = np.arange(tree.node_count)
    leaf = tree.children_left < 0
    left = np.where(leaf, own, tree.children_left) + root
    right = np.where(leaf, own, tree.children_right) + root
    depth = _depths(tree.children_left, tree.children_right) + average_path_length(tree.n_node_samples)
    feature = np.where(leaf, 0, tree.feature)
    return feature.astype(np.int32), tree.threshold, left.astype(np.int32), right.astype(np.int32), depth


def _depths(left: NDArray[np.intp], right: NDArray[np.intp]) -> Floats:
    """Splits above each node; a parent always precedes its children."""
    depths = np.zeros(len(left))
    for node in np.flatnonzero(left >= 0):
        depths[left[node]] = depths[right[node]] = depths[node] + 1
    return depths


def average_path_length(samples: NDArray[np.intp]) -> Floats:
    """Mean depth of an unsuccessful search in a binary search tree of so many samples: what a leaf still hides."""
    count = np.asarray(samples, np.float64)
    inner = np.maximum(count - 1, 1)
    long = 2 * (np.log(inner) + np.euler_gamma) - 2 * (count - 1) / np.maximum(count, 1)
    return np.where(count <= 1, 0, np.where(count == 2, 1, long))
