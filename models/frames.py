"""From the feature table to the dense block that detection works on."""

from __future__ import annotations

from typing import cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from models.layout import Layout
from models.protocol import WindowBlock
from sql.schemas import FEATURE_NAMES


def empty_block() -> WindowBlock:
    """A block without windows or channels."""
    return WindowBlock(
        np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, 0, len(FEATURE_NAMES)), np.float32)
    )


def block_from_features(features: pa.Table) -> WindowBlock:
    """The FEATURES table, in any row order, as [windows, channels, features]; what has no row is NaN."""
    if not features.num_rows:
        return empty_block()
    ends, row = np.unique(_integers(features, "window_end"), return_inverse=True)
    channels, column = np.unique(_integers(features, "channel_id"), return_inverse=True)
    values = np.full((len(ends), len(channels), len(FEATURE_NAMES)), np.nan, np.float32)
    for index, name in enumerate(FEATURE_NAMES):
        values[row, column, index] = features.column(name).to_numpy()
    return WindowBlock(ends, channels, values)


def _integers(table: pa.Table, name: str) -> NDArray[np.int64]:
    return cast(NDArray[np.int64], table.column(name).cast(pa.int64()).to_numpy())


def select_rows(block: WindowBlock, rows: NDArray[np.bool_] | NDArray[np.intp] | slice) -> WindowBlock:
    """The same channels, only these windows."""
    return WindowBlock(block.ends[rows], block.channels, block.values[rows], block.layout)


def align(block: WindowBlock, channels: NDArray[np.int64]) -> NDArray[np.float32]:
    """The block's values for `channels` (ascending ids) alone: [windows, channels, features].

    Channels that the block lacks are NaN, those that are not asked for are left out.
    """
    if np.array_equal(block.channels, channels):
        return block.values
    values = np.full((len(block.ends), len(channels), block.values.shape[2]), np.nan, np.float32)
    _, mine, theirs = np.intersect1d(channels, block.channels, assume_unique=True, return_indices=True)
    values[:, mine] = block.values[:, theirs]
    return values


def relayout(block: WindowBlock, layout: Layout) -> WindowBlock:
    """The same windows with the features of another layout of the same shortest window; those the block lacks are NaN."""
    size, shared = len(FEATURE_NAMES), set(block.layout.scales)
    values = np.full((*block.values.shape[:2], layout.width), np.nan, np.float32)
    for place, scale in enumerate(layout.scales):
        if scale in shared:
            source = block.layout.scales.index(scale)
            values[:, :, place * size :][:, :, :size] = block.values[:, :, source * size :][:, :, :size]
    if layout.daily and block.layout.daily:
        values[:, :, -1] = block.values[:, :, -1]
    return WindowBlock(block.ends, block.channels, values, layout)


def concatenate(blocks: list[WindowBlock]) -> WindowBlock:
    """Blocks that follow each other in time as one, over the union of their channels; all have the same layout."""
    filled = [block for block in blocks if len(block.ends)]
    if not filled:
        return empty_block()
    channels = np.unique(np.concatenate([block.channels for block in filled]))
    return WindowBlock(
        np.concatenate([block.ends for block in filled]),
        channels,
        np.concatenate([align(block, channels) for block in filled]),
        filled[0].layout,
    )
