"""Windows in SQL against their definition in plain Python, over random gaps, lengths and strides."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostsight.clock import SECOND_NS
from hostsight.settings import Duration, WindowSettings
from hostsight.timerange import TimeRange
from ingest.store import SAMPLES
from sql.features import FeatureBuilder

START = 1_700_000_000 * SECOND_NS
TICK_NS = SECOND_NS // 4
SMALLEST = 2.0**-149
"""The smallest step of float32, in which all results are."""
Sample = tuple[int, int, float, float]
"""(tick, channel, value, dt)"""

VALUES = st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=-(2.0**40), max_value=2.0**40)
SAMPLE = st.tuples(st.integers(0, 60), st.integers(1, 2), VALUES, st.sampled_from([0.0, 0.25, 0.5]))
WINDOW = st.tuples(st.sampled_from([0.5, 1.0, 2.0]), st.integers(1, 4), st.integers(1, 3))


def window_of(shape: tuple[float, int, int]) -> WindowSettings:
    pane, length, stride = shape
    return WindowSettings(pane=Duration(pane), length=Duration(pane * length), stride=Duration(pane * stride))


def table(samples: list[Sample]) -> pa.Table:
    return pa.table(
        [
            pa.array([START + tick * TICK_NS for tick, *_ in samples], pa.int64()).cast(pa.timestamp("ns")),
            pa.array([channel for _, channel, *_ in samples], pa.int64()),
            pa.array([value for *_, value, _ in samples], pa.float32()),
            pa.array([dt for *_, dt in samples], pa.float32()),
        ],
        schema=SAMPLES,
    )


Expected = tuple[dict[str, float | None], float]
"""Statistics, and the largest amount that went into them."""


def expected(samples: list[Sample], window: WindowSettings) -> dict[tuple[int, int], Expected]:
    """(end, channel) -> statistics, straight from the definition."""
    found: dict[tuple[int, int], Expected] = {}
    step, length, pane = window.stride.ns, window.length.ns, window.pane.ns
    first = START // step * step
    for end in range(first, START + 40 * SECOND_NS, step):
        for channel in (1, 2):
            inside = [
                (START + tick * TICK_NS, value, dt)
                for tick, of, value, dt in samples
                if of == channel and end - length <= START + tick * TICK_NS < end
            ]
            if inside:
                largest = max(abs(value) for _, value, _ in inside)
                found[end, channel] = statistics_of(inside, pane), largest
    return found


def statistics_of(inside: list[tuple[int, float, float]], pane: int) -> dict[str, float | None]:
    values = [value for _, value, _ in inside]
    weight = math.fsum(dt for *_, dt in inside)
    weighted = math.fsum(value * dt for _, value, dt in inside)
    return {
        "n": len(values),
        "mean": weighted / weight if weight else statistics.fmean(values),
        "std": statistics.pstdev(values),
        "min": min(values),
        "max": max(values),
        "slope": slope(inside, pane),
    }


def slope(inside: list[tuple[int, float, float]], pane: int) -> float | None:
    panes: dict[int, list[float]] = {}
    for stamp, value, _ in inside:
        panes.setdefault(stamp // pane, []).append(value)
    if len(panes) < 2:
        return None
    middle = statistics.fmean(panes)
    level = statistics.fmean(statistics.fmean(values) for values in panes.values())
    over = math.fsum((place - middle) * (statistics.fmean(values) - level) for place, values in panes.items())
    return over / math.fsum((place - middle) ** 2 for place in panes) / (pane / SECOND_NS)


@settings(max_examples=60, deadline=None)
@given(st.lists(SAMPLE, max_size=40, unique_by=lambda sample: sample[:2]), WINDOW)
def test_windows_are_what_their_definition_says(samples: list[Sample], shape: tuple[float, int, int]) -> None:
    window = window_of(shape)
    builder = FeatureBuilder(window, [])
    ends = TimeRange(START - window.stride.ns, START + 39 * SECOND_NS)
    found = builder.build(table(samples), ends).features
    builder.close()
    stamps = found["window_end"].cast(pa.int64()).to_pylist()
    wanted = expected(samples, window)
    assert found.num_rows == len(wanted)
    for stamp, row in zip(stamps, found.drop_columns(["window_end"]).to_pylist(), strict=True):
        reference, scale = wanted[stamp, row["channel_id"]]
        for name, value in reference.items():
            assert (row[name] is None) == (value is None)
            if value is not None:
                assert row[name] == pytest.approx(value, rel=1e-5, abs=max(1e-7 * scale, SMALLEST))


@settings(max_examples=30, deadline=None)
@given(st.lists(SAMPLE, min_size=1, max_size=40, unique_by=lambda sample: sample[:2]), WINDOW)
def test_windows_do_not_depend_on_what_is_computed_with_them(
    samples: list[Sample], shape: tuple[float, int, int]
) -> None:
    window = window_of(shape)
    builder = FeatureBuilder(window, [])
    panes = builder.panes(table(samples))
    step = window.stride.ns
    first = START // step
    whole = builder.features(panes, TimeRange((first - 1) * step, (first + 40) * step))
    starts = panes["pane"].cast(pa.int64()).to_numpy()
    for end in range(first * step, (first + 40) * step, step):
        own = panes.filter(pa.array((starts >= end - window.length.ns) & (starts < end)))
        alone = builder.features(own, TimeRange(end - step, end))
        assert alone.equals(whole.filter(pc.equal(whole["window_end"].cast(pa.int64()), end)))
    builder.close()


LEVELS = st.floats(width=32, min_value=1.0, max_value=2.0**100)


@settings(max_examples=60, deadline=None)
@given(
    LEVELS,
    st.lists(st.integers(-3, 3), min_size=2, max_size=8),
    st.floats(width=32, min_value=-(2.0**100), max_value=2.0**100),
)
def test_the_smallest_spread_of_a_large_value_is_kept_beside_any_other_value(
    level: float, steps: list[int], other: float
) -> None:
    """`other` stands in windows of its own; the values differ by a few of the smallest steps that float32 knows."""
    value = np.float32(level)
    values = [float(value + step * np.spacing(value)) for step in steps]
    rows = [(tick, 1, each, 0.25) for tick, each in enumerate(values)] + [(40, 1, other, 0.25)]
    builder = FeatureBuilder(
        WindowSettings(pane=Duration(0.25), length=Duration(2.0), stride=Duration(2.0)), []
    )
    end = START + 2 * SECOND_NS
    found = builder.build(table(rows), TimeRange(START, START + 20 * SECOND_NS)).features
    builder.close()
    std = found.filter(pc.equal(found["window_end"].cast(pa.int64()), end))["std"].to_pylist()
    assert std == [pytest.approx(statistics.pstdev(values), rel=1e-4)]
