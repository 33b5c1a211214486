"""The course of a metric with the episode marked."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from hostsight.clock import SECOND_NS
from hostsight.timerange import TimeRange
from tests.console.fake import NOW
from tui.source import Series
from tui.timeline import AXIS, Plot, draw, scale

SPAN = TimeRange(NOW - 100 * SECOND_NS, NOW)
PLOT = Plot(
    label="cpu host busy_percent",
    unit="%",
    series=Series(SPAN.start_ns, SECOND_NS, [4.0] * 50 + [math.nan] * 10 + [97.0] * 40),
    span=SPAN,
    window=TimeRange(NOW - 40 * SECOND_NS, NOW),
    expected=4.0,
    style="red",
)


def lines(plot: Plot = PLOT, width: int = 112, height: int = 7) -> list[str]:
    return [line.plain for line in draw(plot, width, height)]


def test_every_line_is_as_wide_as_asked_for_at_most() -> None:
    drawn = lines()
    assert len(drawn) == 7
    assert max(map(len, drawn)) <= 112


def test_the_mark_lies_below_the_window() -> None:
    mark = lines()[5]
    assert mark.index("━") == AXIS + 1 + 60
    assert mark.count("━") == 40


def test_absent_values_are_a_gap() -> None:
    base = lines()[4][AXIS + 1 :]
    assert set(base[:50]) == {"▁"}
    assert set(base[50:60]) <= {" ", "╌"}
    assert set(base[60:]) == {"█"}


def test_the_axis_names_top_and_bottom_in_the_metrics_unit() -> None:
    drawn = lines()
    assert drawn[1].startswith("      97 % ┤")
    assert drawn[4].startswith("       0 % ┤")


def test_the_expected_level_is_dashed_where_nothing_is_drawn() -> None:
    drawn = lines(replace(PLOT, expected=50.0))
    assert drawn[2].count("╌") + drawn[3].count("╌") == 60
    assert "expected 50 %" in drawn[6]


def test_values_far_from_zero_are_drawn_from_below_the_smallest() -> None:
    assert scale([100.0, 110.0], replace(PLOT, expected=None)) == pytest.approx((99.0, 110.0))
    assert scale([1.0, 110.0], replace(PLOT, expected=None)) == (0.0, 110.0)
    assert scale([math.nan], replace(PLOT, expected=None)) == (0.0, 1.0)


def test_negative_values_lie_within_the_picture() -> None:
    bottom, top = scale([-5.0, 5.0], replace(PLOT, expected=None))
    assert bottom < -5.0
    assert top == 5.0


def test_an_episode_without_values_is_an_empty_picture() -> None:
    drawn = lines(replace(PLOT, series=Series(), expected=None, window=TimeRange(NOW, NOW)))
    assert "━" in drawn[5]
    assert "█" not in "".join(drawn)
