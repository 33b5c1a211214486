from __future__ import annotations

import numpy as np
import pyarrow as pa

from models.frames import align, block_from_features, concatenate, select_rows
from sql.schemas import FEATURES


def table(rows: list[tuple[int, int, float]]) -> pa.Table:
    """(window end, channel, mean); the other features are mean + 1, + 2, ..."""
    columns = {
        "window_end": [row[0] for row in rows],
        "channel_id": [row[1] for row in rows],
        "n": [30] * len(rows),
        "mean": [row[2] for row in rows],
        "std": [row[2] + 1 for row in rows],
        "min": [row[2] + 2 for row in rows],
        "max": [row[2] + 3 for row in rows],
        "slope": [row[2] + 4 for row in rows],
    }
    return pa.table(columns).cast(FEATURES)


def test_rows_in_any_order_become_ascending_windows_and_channels() -> None:
    block = block_from_features(table([(2000, 9, 4.0), (1000, 9, 1.0), (2000, 3, 7.0)]))
    assert block.ends.tolist() == [1000, 2000]
    assert block.channels.tolist() == [3, 9]
    assert block.values[1].tolist() == [[7, 8, 9, 10, 11], [4, 5, 6, 7, 8]]


def test_what_has_no_row_is_absent_and_not_zero() -> None:
    block = block_from_features(table([(1000, 9, 1.0), (2000, 3, 7.0)]))
    assert np.isnan(block.values[0, 0]).all()
    assert np.isnan(block.values[1, 1]).all()


def test_no_rows_give_an_empty_block_that_can_be_joined() -> None:
    empty = block_from_features(FEATURES.empty_table())
    assert empty.values.shape == (0, 0, 5)
    joined = concatenate([empty, block_from_features(table([(1000, 9, 1.0)]))])
    assert joined.ends.tolist() == [1000]


def test_align_leaves_out_unknown_channels_and_fills_missing_ones() -> None:
    block = block_from_features(table([(1000, 3, 1.0), (1000, 5, 2.0)]))
    values = align(block, np.array([2, 5], np.int64))
    assert np.isnan(values[0, 0]).all()
    assert values[0, 1, 0] == 2.0


def test_joined_blocks_cover_all_channels_in_time_order() -> None:
    first = block_from_features(table([(1000, 3, 1.0)]))
    second = block_from_features(table([(2000, 1, 2.0)]))
    joined = concatenate([first, second])
    assert joined.channels.tolist() == [1, 3]
    assert joined.values[1, 0, 0] == 2.0
    assert np.isnan(joined.values[0, 0, 0])


def test_selecting_rows_keeps_the_channels() -> None:
    block = block_from_features(table([(1000, 3, 1.0), (2000, 3, 2.0)]))
    chosen = select_rows(block, np.array([False, True]))
    assert chosen.ends.tolist() == [2000]
    assert chosen.channels.tolist() == [3]
