from __future__ import annotations

import numpy as np
import pytest

from hostsight.clock import SECOND_NS
from hostsight.settings import Duration, WindowSettings
from models.frames import select_rows
from models.history import History
from models.layout import Layout
from models.protocol import WindowBlock
from models.sampling import sampled

ROW = WindowSettings(pane=Duration(60), length=Duration(60), stride=Duration(60))


def windows(count: int, stride_ns: int) -> WindowBlock:
    values = np.random.default_rng(1).normal(10, 2, (count, 3, 5)).astype(np.float32)
    values[50:70, 1] = np.nan
    ends = (1 + np.arange(count)) * stride_ns
    return WindowBlock(np.delete(ends, slice(100, 110)), np.arange(3), np.delete(values, slice(100, 110), 0))


@pytest.mark.parametrize(
    ("layout", "count"),
    [
        (Layout(), 200),
        (Layout(scales=(1, 5)), 400),
        (Layout(scales=(1, 5, 15)), 600),
        (Layout(ROW, (1, 5, 15), daily=True), 4 * 1440),
    ],
    ids=["one scale", "two scales", "three scales", "with other days"],
)
def test_a_few_windows_are_as_they_are_among_all(layout: Layout, count: int) -> None:
    block = windows(count, layout.window.stride.ns)
    whole = History(layout).widen(block)
    rows = np.arange(0, len(block.ends), 7)
    found = sampled(block, layout, block.ends[rows])
    assert np.array_equal(found.values, select_rows(whole, rows).values, equal_nan=True)
    assert found.layout == layout


def test_of_no_windows_there_are_none() -> None:
    found = sampled(windows(200, SECOND_NS), Layout(scales=(1, 5)), np.empty(0, np.int64))
    assert found.values.shape == (0, 3, 10)
