"""Series drawn with blocks."""

from __future__ import annotations

import math

from hostsight.timerange import TimeRange
from tui import spark
from tui.source import Series

NAN = math.nan


def test_a_gap_is_blank_and_zero_is_not() -> None:
    assert spark.rows([0.0, NAN, 4.0, 8.0], 1, top=8.0) == ["▁ ▄█"]


def test_two_rows_double_the_levels() -> None:
    assert spark.rows([8.0, 16.0, 12.0], 2, top=16.0) == [" █▄", "███"]


def test_a_series_of_equal_values_does_not_divide_by_zero() -> None:
    assert spark.rows([0.0, 0.0], 1, top=0.0) == ["▁▁"]


def test_a_column_shows_the_largest_of_its_values() -> None:
    series = Series(start_ns=0, step_ns=1, values=[1, 9, 2, 3])
    assert spark.columns(series, TimeRange(0, 4), 2) == [9, 3]


def test_a_long_value_fills_all_its_columns() -> None:
    series = Series(start_ns=0, step_ns=2, values=[5, 6])
    assert spark.columns(series, TimeRange(0, 4), 4) == [5, 5, 6, 6]


def test_values_outside_the_span_are_left_out() -> None:
    series = Series(start_ns=-10, step_ns=1, values=[float(i) for i in range(40)])
    assert spark.columns(series, TimeRange(0, 3), 3) == [10, 11, 12]


def test_the_picture_shifts_by_whole_columns_as_time_goes_on() -> None:
    series = Series(start_ns=0, step_ns=1, values=[float(i) for i in range(100)])
    early = spark.columns(series, TimeRange(0, 40), 4)
    assert spark.columns(series, TimeRange(5, 45), 4)[:3] == early[1:]


def test_infinities_are_gaps() -> None:
    series = Series(start_ns=0, step_ns=1, values=[math.inf, 1.0, -math.inf])
    values = spark.columns(series, TimeRange(0, 3), 3)
    assert math.isnan(values[0])
    assert values[1] == 1.0
    assert math.isnan(values[2])


def test_percentages_are_drawn_against_a_hundred() -> None:
    assert spark.ceiling([3.0, NAN, 40.0], "%") == 100.0
    assert spark.ceiling([3.0, 40.0], "B/s") == 40.0
    assert spark.ceiling([150.0], "%") == 150.0
    assert spark.ceiling([], "B/s") == 0.0


def test_a_bar_is_drawn_to_an_eighth_of_a_cell() -> None:
    assert spark.bar(0.5, 4) == "██  "
    assert spark.bar(0.53125, 4) == "██▏ "
    assert spark.bar(2.0, 3) == "███"
    assert spark.bar(NAN, 3) == "   "
