from __future__ import annotations

import numpy as np
import pytest

from hostsight.clock import SECOND_NS
from hostsight.settings import Duration, WindowSettings
from models.frames import relayout, select_rows
from models.history import History, widen
from models.layout import DAY_NS, Layout, layout_for
from models.protocol import Floats, WindowBlock
from sql.schemas import FEATURE_NAMES
from tests.unit.models.simulator import SimulatedHost

MINUTE = WindowSettings(pane=Duration(60), length=Duration(60), stride=Duration(60))
SIZE = len(FEATURE_NAMES)


def rows(values: Floats, stride_ns: int = 60 * SECOND_NS) -> WindowBlock:
    """One channel, a row a window: its level alone."""
    features = np.zeros((len(values), 1, SIZE), np.float32)
    features[:, 0, [0, 2, 3]] = values[:, np.newaxis]
    features[:, 0, 4] = np.nan
    ends = (1 + np.arange(len(values))) * stride_ns
    return WindowBlock(ends.astype(np.int64), np.array([7]), features)


def test_longer_windows_of_rows_have_the_statistics_of_their_rows() -> None:
    values = np.random.default_rng(1).normal(size=200)
    wide = widen(rows(values), Layout(MINUTE, (1, 5, 15)))
    for index, scale in ((1, 5), (2, 15)):
        found = wide.values[150, 0, index * SIZE : (index + 1) * SIZE]
        window = values[151 - scale : 151]
        slope = np.polyfit(np.arange(scale) * 60.0, window, 1)[0]
        expected = [window.mean(), window.std(), window.min(), window.max(), slope]
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_windows_a_second_apart_are_put_together_without_overlap() -> None:
    block = SimulatedHost().windows(120)
    wide = widen(block, Layout(scales=(1, 5)))
    parts = block.values[[60, 57, 54, 51, 48]].astype(np.float64)
    assert wide.values[60, :, SIZE] == pytest.approx(parts[:, :, 0].mean(axis=0), rel=1e-5)
    assert wide.values[60, :, SIZE + 3] == pytest.approx(parts[:, :, 3].max(axis=0))
    assert wide.values[60, :, SIZE + 1].min() >= 0


@pytest.mark.parametrize("size", [1, 7, 60])
def test_how_windows_are_batched_does_not_matter(size: int) -> None:
    layout = Layout(scales=(1, 5, 15))
    block = SimulatedHost().windows(200)
    history = History(layout)
    parts = [
        history.widen(select_rows(block, slice(start, start + size))).values
        for start in range(0, len(block.ends), size)
    ]
    assert np.array_equal(np.concatenate(parts), widen(block, layout).values, equal_nan=True)


def test_what_comes_later_changes_nothing_before() -> None:
    layout = Layout(MINUTE, (1, 5, 15))
    values = np.arange(60.0)
    before = widen(rows(values), layout).values[:40]
    values[40:] = 1e6
    assert np.array_equal(widen(rows(values), layout).values[:40], before, equal_nan=True)


def test_a_long_window_that_mostly_lacks_its_parts_is_absent() -> None:
    wide = widen(rows(np.ones(20)), Layout(MINUTE, (1, 5)))
    assert np.isnan(wide.values[1, 0, SIZE])
    assert wide.values[2, 0, SIZE] == 1


def test_daily_is_the_difference_to_the_same_time_of_other_days() -> None:
    hour = WindowSettings(pane=Duration(3600), length=Duration(3600), stride=Duration(3600))
    hours = np.arange(24 * 4)
    values = np.where((hours + 6) % 24 < 12, 1.0, 5.0)
    values[-1] += 10
    wide = widen(rows(values, 3600 * SECOND_NS), Layout(hour, (1, 2), daily=True))
    assert np.isnan(wide.values[:24, 0, -1]).all()
    assert np.abs(wide.values[24:-1, 0, -1]).max() < 1e-6
    assert wide.values[-1, 0, -1] == pytest.approx(5.0)


def test_scales_come_with_the_length_of_training() -> None:
    live = WindowSettings()
    assert layout_for(live, 180 * SECOND_NS).scales == (1,)
    assert layout_for(live, 3600 * SECOND_NS).scales == (1, 5)
    assert layout_for(live, DAY_NS) == Layout(live, (1, 5, 15))
    assert layout_for(MINUTE, 16 * DAY_NS).daily


def test_a_model_of_fewer_scales_takes_its_part_of_a_wider_block() -> None:
    block = SimulatedHost().windows(60)
    narrow, wide = widen(block, Layout(scales=(1, 5))), widen(block, Layout(scales=(1, 5, 15)))
    assert np.array_equal(relayout(wide, narrow.layout).values, narrow.values, equal_nan=True)
    assert np.isnan(relayout(narrow, wide.layout).values[:, :, 2 * SIZE :]).all()
