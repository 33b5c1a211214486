"""Which channels the model works on: of those that move together, one stands for all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.protocol import Floats


def representatives(levels: Floats, correlation: float) -> NDArray[np.intp]:
    """For each channel the index of the kept one that stands for it; a kept one stands for itself.

    At 1, the default, nothing is left out: on labelled servers the paper's 0.5 halved the area under precision-recall, because
    what breaks in an incident is often the very correlation that pruning relied on.

    levels: [windows, channels], finite.  Channels whose |r| exceeds `correlation` are taken together, those with the most
    such partners first. A channel that was constant in training correlates with nothing and is kept: it may not stay so.
    """
    if correlation >= 1:
        return np.arange(levels.shape[1])
    alike = np.abs(_correlations(levels)) > correlation
    np.fill_diagonal(alike, val=True)
    standing = np.full(len(alike), -1, np.intp)
    while (free := standing < 0).any():
        partners = np.where(free, (alike & free).sum(axis=1), 0)
        chosen = int(partners.argmax())
        standing[alike[chosen] & free] = chosen
    return standing


def _correlations(levels: Floats) -> Floats:
    centred = levels - levels.mean(axis=0)
    length = np.sqrt(np.square(centred).sum(axis=0))
    unit = centred / np.where(length > 0, length, 1)
    return np.asarray(unit.T @ unit)
