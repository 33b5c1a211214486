"""What a baseline says about a block of windows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from models.protocol import Floats
from sql.schemas import SCORES

FUSED = "fused"


@dataclass(frozen=True, slots=True)
class Scored:
    """Rows are windows, ascending by end; columns are `detectors`.

    ends: int64 [windows].  scores, tail: [windows, detectors].
    rank: [windows], the logarithm of what ranks windows.  fused: [windows], the fused score's tail probability.
    anomalous: beyond the threshold, with at least one channel further from usual than its smallest effect.
    extreme: anomalous, and far beyond the tail.  confidence: [windows], 0 to 1, how far the detectors agree.
    regimes: [windows], the name of each one's regime; empty where there is but one.
    """

    ends: NDArray[np.int64]
    detectors: tuple[str, ...]
    scores: Floats
    tail: Floats
    rank: Floats
    fused: Floats
    anomalous: NDArray[np.bool_]
    extreme: NDArray[np.bool_]
    confidence: Floats
    threshold: float
    regimes: tuple[str, ...] = ()

    def table(self, host: str, model: str) -> pa.Table:
        """As SCORES: a row a window and detector, and one `fused` whose score is -log10 of its tail probability."""
        names = (*self.detectors, FUSED)
        rank = -np.log10(self.fused)
        columns = {
            "window_end": np.repeat(self.ends, len(names)),
            "host": pa.array([host] * (len(self.ends) * len(names)), pa.string()),
            "detector": pa.array(list(names) * len(self.ends), pa.string()),
            "score": np.column_stack([self.scores, rank]).ravel(),
            "tail_probability": np.column_stack([self.tail, self.fused]).ravel(),
            "model": pa.array([model] * (len(self.ends) * len(names)), pa.string()),
        }
        return pa.table({name: pa.array(column) for name, column in columns.items()}).cast(SCORES)
