"""Longer windows and other days, from the shortest windows and those before them.

A window of several lengths is put together from windows that follow each other without overlap: exactly, as far as its parts
are there. Only the past is looked at, so a window's features do not depend on what comes after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from models.frames import align, concatenate, select_rows
from models.layout import DAY_NS, DAYS, Layout
from models.protocol import Floats, WindowBlock
from sql.schemas import FEATURE_NAMES

_MEAN, _STD, _MIN, _MAX, _SLOPE = (
    FEATURE_NAMES.index(name) for name in ("mean", "std", "min", "max", "slope")
)
Settle = Callable[[WindowBlock], WindowBlock]
"""Wide windows that follow each other, with those that `Layout.switch_ns` reaches back to -> the same, some features left out."""

_AT_ONCE = 2048
"""Windows put together at once, so that memory stays small."""


class History:
    """Widens blocks that follow each other; keeps as many earlier windows as the layout reaches back to.

    settle: what a model leaves out of wide windows (`Baseline.settle`); None: nothing.
    """

    def __init__(self, layout: Layout, settle: Settle | None = None) -> None:
        self.settle = settle
        self._layout = layout
        self._earlier: WindowBlock | None = None

    def widen(self, block: WindowBlock) -> WindowBlock:
        """The same windows and channels with the layout's features.

        block: the shortest windows, ascending by end, after all that were given before.
        """
        wide = widen(block, self._layout, self._earlier)
        if not len(block.ends):
            return wide
        first_ns, kept_ns = int(block.ends[0]), int(block.ends[-1]) - self._layout.lead_ns
        known = wide
        if self._earlier is not None:
            oldest_ns = min(kept_ns, first_ns - self._layout.switch_ns)
            known = concatenate([_since(self._earlier, oldest_ns), wide])
        late = known.ends >= kept_ns
        self._earlier = known if late.all() else select_rows(known, late)
        if self.settle is None:
            return wide
        near = self.settle(_since(known, first_ns - self._layout.switch_ns))
        return _since(near, first_ns)


def _since(block: WindowBlock, ns: int) -> WindowBlock:
    """The windows that end at `ns` or later, without a copy of them."""
    return select_rows(block, slice(int(np.searchsorted(block.ends, ns)), None))


def widen(block: WindowBlock, layout: Layout, earlier: WindowBlock | None = None) -> WindowBlock:
    """The block's windows with all features of the layout; `earlier` are wide windows that came before them."""
    if layout.width == block.values.shape[2]:
        return WindowBlock(block.ends, block.channels, block.values, layout)
    if earlier is not None and len(block.ends) and not layout.daily:
        earlier = _since(earlier, int(block.ends[0]) - layout.longest_ns)
    before = None if earlier is None else align(earlier, block.channels)
    ends = block.ends if earlier is None else np.concatenate([earlier.ends, block.ends])
    own = [block.values]
    size = len(FEATURE_NAMES)

    def known(scale: int) -> NDArray[np.float32]:
        new = own[scale]
        return new if before is None else np.concatenate([before[:, :, scale * size :][:, :, :size], new])

    for index, (shorter, longer) in enumerate(pairwise(layout.scales)):
        length_ns = shorter * layout.window.length.ns
        past = Past(ends, known(index))
        own.append(_longer(block.ends, past, length_ns, longer // shorter, float(layout.window.pane)))
    if layout.daily:
        own.append(daily(block.ends, Past(ends, known(1)[:, :, _MEAN])))
    return WindowBlock(block.ends, block.channels, np.concatenate(own, axis=2), layout)


@dataclass(frozen=True, slots=True)
class Past:
    """Windows by their end, ascending."""

    ends: NDArray[np.int64]
    values: NDArray[np.float32]

    def at(self, wanted: NDArray[np.int64]) -> NDArray[np.float32]:
        """The values of the windows that end at `wanted`; NaN where there is none."""
        places = np.minimum(np.searchsorted(self.ends, wanted), len(self.ends) - 1)
        found = self.values[places]
        found[self.ends[places] != wanted] = np.nan
        return found


def _longer(
    ends: NDArray[np.int64], past: Past, length_ns: int, parts: int, pane_seconds: float
) -> NDArray[np.float32]:
    """Windows of `parts` times `length_ns`, the length of those in `past`."""
    out = np.empty((len(ends), *past.values.shape[1:]), np.float32)
    for start in range(0, len(ends), _AT_ONCE):
        chunk = ends[start : start + _AT_ONCE]
        pieces = np.stack([past.at(chunk - part * length_ns) for part in range(parts)])
        out[start : start + _AT_ONCE] = combine(pieces, length_ns / 1e9, pane_seconds)
    return out


def combine(pieces: NDArray[np.float32], seconds: float, pane_seconds: float) -> Floats:
    """Windows that follow each other, the newest first, as one: [parts, windows, channels, features] -> without parts.

    seconds: the length of a part. slope: least squares over the parts' means and, within each, its own slope. NaN where more
    than half of the parts are missing: what follows a gap is not judged by long windows yet.
    """
    there = np.isfinite(pieces[..., _MEAN])
    count = np.maximum(there.sum(axis=0), 1)
    values = np.where(np.isfinite(pieces), pieces, 0.0).astype(np.float64)
    time = np.where(there, -seconds * np.arange(len(pieces))[:, np.newaxis, np.newaxis], 0.0)
    mean = values[..., _MEAN].sum(axis=0) / count
    rise = np.where(there, values[..., _MEAN] - mean, 0.0)
    away = np.where(there, time - time.sum(axis=0) / count, 0.0)
    inner = there * max(0.0, seconds**2 - pane_seconds**2) / 12
    span = (np.square(away) + inner).sum(axis=0)
    product = (away * rise + inner * values[..., _SLOPE]).sum(axis=0)
    out = np.empty(pieces.shape[1:], np.float64)
    out[..., _MEAN] = mean
    out[..., _STD] = np.sqrt((np.square(rise) + np.square(values[..., _STD])).sum(axis=0) / count)
    out[..., _MIN] = np.where(there, pieces[..., _MIN], np.inf).min(axis=0)
    out[..., _MAX] = np.where(there, pieces[..., _MAX], -np.inf).max(axis=0)
    out[..., _SLOPE] = np.where(span > 0, product / np.where(span > 0, span, 1.0), np.nan)
    out[2 * there.sum(axis=0) < len(pieces)] = np.nan
    return out


def daily(ends: NDArray[np.int64], past: Past) -> NDArray[np.float32]:
    """[windows, channels, 1]: the mean less its average at the same time of the last days; NaN on the first day."""
    means = past.at(ends)
    total, count = np.zeros(means.shape), np.zeros(means.shape)
    for day in range(1, DAYS + 1):
        earlier = past.at(ends - day * DAY_NS)
        there = np.isfinite(earlier)
        total += np.where(there, earlier, 0.0)
        count += there
    usual = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return (means - usual)[:, :, np.newaxis].astype(np.float32)
