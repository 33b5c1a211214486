"""Golden values of panes, windows and derived metrics on small tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pytest

from hostsight.channel import Channel, Subsystem
from hostsight.clock import SECOND_NS
from hostsight.settings import Duration, WindowSettings
from hostsight.timerange import TimeRange
from ingest.store import SAMPLES
from sql.features import FeatureBuilder
from sql.schemas import FEATURES, PANES

START = 1_700_000_000 * SECOND_NS
Sample = tuple[float, int, float, float]
"""(seconds after START, channel, value, dt)"""


def samples(rows: Sequence[Sample]) -> pa.Table:
    return pa.table(
        {
            "ts": pa.array([START + round(row[0] * SECOND_NS) for row in rows], pa.int64()).cast(
                pa.timestamp("ns")
            ),
            "channel_id": [row[1] for row in rows],
            "value": pa.array([row[2] for row in rows], pa.float32()),
            "dt": pa.array([row[3] for row in rows], pa.float32()),
        },
        schema=SAMPLES,
    )


def channel(device: str, metric: str, subsystem: Subsystem = "cpu", host: str = "gpu01") -> Channel:
    return Channel(host, subsystem, device, metric, "gauge", "%", 0.1, "/proc/stat")


def rows(table: pa.Table, time: str) -> list[dict[str, float]]:
    """Rows with times as seconds after START."""
    seconds = [(ns - START) / SECOND_NS for ns in table[time].cast(pa.int64()).to_pylist()]
    others = table.drop_columns([time]).to_pylist()
    return [{time: second, **row} for second, row in zip(seconds, others, strict=True)]


def until(seconds: float, start: float = 0) -> TimeRange:
    return TimeRange(START + round(start * SECOND_NS), START + round(seconds * SECOND_NS))


@pytest.fixture
def builder() -> Iterator[FeatureBuilder]:
    made = FeatureBuilder(WindowSettings(), [])
    yield made
    made.close()


def test_a_pane_holds_the_moments_of_its_second(builder: FeatureBuilder) -> None:
    table = builder.panes(samples([(0.1, 7, 4, 0.1), (0.9, 7, 1, 0.3), (0.4, 7, 10, 0.1), (1.0, 7, 5, 0.1)]))
    assert table.schema == PANES
    first, second = rows(table, "pane")
    assert first == pytest.approx(
        {
            "pane": 0, "channel_id": 7, "n": 3, "sum": 15, "m2": 42, "min": 1, "max": 10,
            "first": 4, "last": 1, "wsum": 0.4 + 0.3 + 1.0, "dt": 0.5,
        }
    )  # fmt: skip
    assert (second["pane"], second["n"], second["m2"]) == (1, 1, 0)


def test_panes_are_sorted_by_channel_and_time(builder: FeatureBuilder) -> None:
    table = builder.panes(samples([(1, 9, 1, 0.1), (0, 9, 1, 0.1), (1, 3, 1, 0.1), (0, 3, 1, 0.1)]))
    assert [(row["channel_id"], row["pane"]) for row in rows(table, "pane")] == [
        (3, 0),
        (3, 1),
        (9, 0),
        (9, 1),
    ]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_counts_for_nothing(builder: FeatureBuilder, bad: float) -> None:
    (row,) = rows(builder.panes(samples([(0, 1, bad, 0.1), (0.1, 1, 6, 0.1), (0, 2, bad, 0.1)])), "pane")
    assert (row["channel_id"], row["n"], row["sum"], row["max"]) == (1, 1, 6, 6)


def test_panes_of_another_length_start_at_its_multiples() -> None:
    builder = FeatureBuilder(
        WindowSettings(pane=Duration(0.5), length=Duration(1.5), stride=Duration(0.5)), []
    )
    table = builder.panes(samples([(0.4, 1, 1, 0.1), (0.5, 1, 2, 0.1), (0.9, 1, 3, 0.1)]))
    assert [(row["pane"], row["n"]) for row in rows(table, "pane")] == [(0, 1), (0.5, 2)]
    builder.close()


def test_a_window_combines_its_panes(builder: FeatureBuilder) -> None:
    table = builder.panes(samples([(0, 1, 0, 1), (1, 1, 3, 1), (2, 1, 6, 1), (2.5, 1, 6, 0), (3, 1, 99, 1)]))
    windows = builder.features(table, until(3, start=2))
    assert windows.schema == FEATURES
    (row,) = rows(windows, "window_end")
    assert row == pytest.approx(
        {"window_end": 3, "channel_id": 1, "n": 4, "mean": 3, "std": np.std([0, 3, 6, 6]), "min": 0, "max": 6,
         "slope": 3}
    )  # fmt: skip


def test_the_mean_is_weighted_by_the_length_of_each_tick(builder: FeatureBuilder) -> None:
    table = builder.panes(samples([(0, 1, 10, 0.1), (0.4, 1, 50, 0.3)]))
    (row,) = rows(builder.features(table, until(1)), "window_end")
    assert row["mean"] == pytest.approx(40)


def test_without_tick_lengths_the_mean_is_plain(builder: FeatureBuilder) -> None:
    table = builder.panes(samples([(0, 1, 10, 0), (0.4, 1, 50, 0)]))
    assert rows(builder.features(table, until(1)), "window_end")[0]["mean"] == 30


def test_windows_go_on_across_a_gap_until_nothing_is_left_in_them(builder: FeatureBuilder) -> None:
    table = builder.panes(samples([(0, 1, 2, 0.1), (7, 1, 4, 0.1)]))
    found = rows(builder.features(table, until(8)), "window_end")
    assert [(row["window_end"], row["mean"]) for row in found] == [(1, 2), (2, 2), (3, 2), (8, 4)]
    assert [row["slope"] for row in found] == [None] * 4


def test_a_gap_inside_a_window_does_not_bend_its_slope(builder: FeatureBuilder) -> None:
    table = builder.panes(samples([(0, 1, 10, 0.1), (2, 1, 30, 0.1)]))
    assert rows(builder.features(table, until(3, start=2)), "window_end")[0]["slope"] == pytest.approx(10)


def test_window_ends_lie_after_the_start_up_to_the_end(builder: FeatureBuilder) -> None:
    table = builder.panes(samples([(second, 1, 1, 0.1) for second in range(10)]))
    found = rows(builder.features(table, until(6, start=4)), "window_end")
    assert [row["window_end"] for row in found] == [5, 6]


def test_a_longer_stride_keeps_its_grid_since_the_epoch() -> None:
    builder = FeatureBuilder(WindowSettings(length=Duration(4), stride=Duration(2)), [])
    table = builder.panes(samples([(second, 1, second, 1) for second in range(1, 8)]))
    found = rows(builder.features(table, until(8)), "window_end")
    assert [(row["window_end"], row["n"], row["min"]) for row in found] == [
        (2, 1, 1),
        (4, 3, 1),
        (6, 4, 2),
        (8, 4, 4),
    ]
    builder.close()


@pytest.mark.parametrize("level", [0.0, 1e11, -3e30])
def test_the_deviation_of_large_values_keeps_its_digits(builder: FeatureBuilder, level: float) -> None:
    step = float(np.spacing(np.float32(abs(level)))) if level else 1.0
    values = np.float32(level) + np.float32(step) * np.arange(30, dtype=np.float32) % np.float32(7 * step)
    table = builder.panes(samples([(i / 10, 1, float(v), 0.1) for i, v in enumerate(values)]))
    (row,) = rows(builder.features(table, until(3, start=2)), "window_end")
    assert row["std"] == pytest.approx(float(np.std(values.astype(np.float64))), rel=1e-5)


def test_a_constant_deviates_by_exactly_nothing(builder: FeatureBuilder) -> None:
    table = builder.panes(samples([(i / 10, 1, 0.1, 0.1) for i in range(30)]))
    row = rows(builder.features(table, until(3, start=2)), "window_end")[0]
    assert (row["std"], row["slope"]) == (0, 0)


def test_the_largest_values_give_only_finite_features(builder: FeatureBuilder) -> None:
    big = float(np.finfo(np.float32).max)
    table = builder.panes(samples([(i / 2, 1, big * (-1) ** i, 0.1) for i in range(6)]))
    for row in rows(builder.features(table, until(3)), "window_end"):
        assert all(np.isfinite(value) for value in row.values() if value is not None)


def test_increments_give_the_windows_of_one_whole_run(builder: FeatureBuilder) -> None:
    noise = np.random.default_rng(1).normal(1e6, 1e3, 200)
    table = samples([(i / 10, 1 + i % 2, float(v), 0.1) for i, v in enumerate(noise)])
    whole = builder.build(table, until(20)).features
    parts = []
    for second in range(20):
        end = START + (second + 1) * SECOND_NS
        times = table["ts"].cast(pa.int64())
        near = table.filter(
            pa.compute.and_(pa.compute.greater_equal(times, end - 3 * SECOND_NS), pa.compute.less(times, end))
        )
        parts.append(builder.build(near, until(second + 1, start=second)).features)
    joined = pa.concat_tables(parts).sort_by([("channel_id", "ascending"), ("window_end", "ascending")])
    assert joined.equals(whole)


def test_a_database_made_anew_goes_on_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sql.features.RUNS_A_SESSION", 2)
    cpus = [channel("cpu0", "busy_percent"), channel("cpu1", "busy_percent")]
    builder = FeatureBuilder(WindowSettings(), cpus)
    table = samples([(0.0, cpus[0].id, 90.0, 0.1), (0.0, cpus[1].id, 10.0, 0.1)])
    results = [builder.build(table, until(1)).features for _ in range(5)]
    builder.close()
    assert results[0].num_rows == 3
    assert all(result.equals(results[0]) for result in results)


def test_nothing_in_gives_typed_nothing_out(builder: FeatureBuilder) -> None:
    result = builder.build(SAMPLES.empty_table(), until(10))
    assert (result.panes.schema, result.features.schema) == (PANES, FEATURES)
    assert result.features.num_rows == 0


def test_derived_metrics_become_channels_of_their_own() -> None:
    cpus = [channel("cpu0", "busy_percent"), channel("cpu1", "busy_percent"), channel("host", "busy_percent")]
    builder = FeatureBuilder(WindowSettings(), cpus)
    (derived,) = builder.derived_channels
    assert (derived.label, derived.unit, derived.source) == ("cpu busy_spread_percent", "%", "derived")
    values = [(0.0, cpus[0].id, 90.0, 0.1), (0.0, cpus[1].id, 10.0, 0.1), (0.0, cpus[2].id, 50.0, 0.1)]
    result = builder.build(samples(values), until(1))
    found = {row["channel_id"]: row for row in rows(result.features, "window_end")}
    assert found[derived.id]["mean"] == 40
    assert result.features.num_rows == 4
    builder.close()


def test_a_derived_metric_is_absent_where_an_input_is() -> None:
    cpus = [channel("cpu0", "busy_percent"), channel("cpu1", "busy_percent")]
    builder = FeatureBuilder(WindowSettings(), cpus)
    panes = builder.panes(samples([(0.0, cpus[0].id, 90.0, 0.1)]))
    assert builder.derive(panes).num_rows == 0
    builder.close()


def test_hosts_are_derived_apart() -> None:
    cpus = [channel(f"cpu{i}", "busy_percent", host=host) for host in ("a", "b") for i in (0, 1)]
    builder = FeatureBuilder(WindowSettings(), cpus)
    panes = builder.panes(
        samples([(0.0, c.id, float(v), 0.1) for c, v in zip(cpus, (4, 2, 30, 10), strict=True)])
    )
    hosts = {c.id: c.host for c in builder.derived_channels}
    found = {hosts[int(row["channel_id"])]: row["sum"] for row in rows(builder.derive(panes), "pane")}
    assert found == {"a": 1, "b": 10}
    builder.close()


def test_statistics_of_means_are_the_same_at_every_rate() -> None:
    """Ten samples a second and one that is their mean: the same features, so that a change of rate changes no score."""
    level = np.random.default_rng(3).normal(50, 9, (3, 10)).astype(np.float32)
    fast = [(s + i / 10, 7, float(level[s, i]), 0.1) for s in range(3) for i in range(10)]
    slow = [(float(s), 7, float(level[s].mean()), 1.0) for s in range(3)]
    builder = FeatureBuilder(WindowSettings(of_means=True), [])
    found = [rows(builder.build(samples(given), until(3)).features, "window_end") for given in (fast, slow)]
    builder.close()
    assert found[0][2]["n"] == found[1][2]["n"] == 3
    assert found[0][2] == pytest.approx(found[1][2], rel=1e-4)
    assert found[0][2]["max"] == pytest.approx(float(level.mean(axis=1).max()), rel=1e-5)
