"""Words of kernel files and the numbers that they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import itemgetter

import numpy as np

from ingest.collector import Values

Words = Sequence[bytes]


def number(text: bytes) -> float:
    """The finite number that `text` is, else NaN."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def numbers(texts: Words) -> Values:
    """One float64 a text; what is no finite number is NaN."""
    try:
        values = np.array(texts, dtype=np.float64)
    except ValueError:
        return np.array([number(text) for text in texts])
    infinite = np.isinf(values)
    if np.count_nonzero(infinite):
        values[infinite] = np.nan
    return values


def picker(positions: Sequence[int]) -> Callable[[Words], tuple[bytes, ...]]:
    """A function that takes the words at `positions`."""
    if len(positions) > 1:
        return itemgetter(*positions)
    return lambda words: tuple(words[position] for position in positions)
