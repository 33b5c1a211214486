"""All features of a few windows out of many: a refit looks at one in some dozens, and need not put together the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.history import Past, combine, daily
from models.layout import DAY_NS, DAYS, Layout
from models.protocol import WindowBlock
from models.scaling import MEAN

_AT_ONCE = 256
"""Windows put together at once, so that memory stays small."""


def sampled(block: WindowBlock, layout: Layout, ends: NDArray[np.int64]) -> WindowBlock:
    """Those of the block's shortest windows that end at `ends` (ascending), with the features that `History.widen` gives them.

    Long windows reach back in the block alone, so it holds `layout.lead_ns` before the first of them.
    """
    past = Past(block.ends, block.values)
    values = np.empty((len(ends), len(block.channels), layout.width), np.float32)
    for start in range(0, len(ends), _AT_ONCE):
        values[start : start + _AT_ONCE] = _features(past, layout, ends[start : start + _AT_ONCE])
    return WindowBlock(ends, block.channels, values, layout)


def _features(past: Past, layout: Layout, ends: NDArray[np.int64]) -> NDArray[np.float32]:
    parts = [_at(past, layout, index, ends) for index in range(len(layout.scales))]
    if layout.daily:
        days = np.unique(np.concatenate([ends - day * DAY_NS for day in range(DAYS + 1)]))
        parts.append(daily(ends, Past(days, _at(past, layout, 1, days)[:, :, MEAN])))
    return np.concatenate(parts, axis=2)


def _at(past: Past, layout: Layout, index: int, ends: NDArray[np.int64]) -> NDArray[np.float32]:
    """[ends, channels, 5]: the windows of the layout's scale `index`; NaN where there is no shortest window of that end."""
    if index == 0:
        return past.at(ends)
    shorter, longer = layout.scales[index - 1 : index + 1]
    length_ns = shorter * layout.window.length.ns
    pieces = [_at(past, layout, index - 1, ends - part * length_ns) for part in range(longer // shorter)]
    out = combine(np.stack(pieces), length_ns / 1e9, float(layout.window.pane)).astype(np.float32)
    out[~np.isin(ends, past.ends)] = np.nan
    return out
