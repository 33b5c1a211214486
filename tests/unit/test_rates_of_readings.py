"""Growing counters to rates, in SQL."""

from __future__ import annotations

import pyarrow as pa

from hostsight.clock import SECOND_NS
from ingest.influx.telegraf import READINGS
from sql.rates import samples

T0 = 1_700_000_000 * SECOND_NS
PERIOD_NS = 10 * SECOND_NS


def readings(*rows: tuple[float, int, int, float], counter: bool = True) -> pa.Table:
    """(seconds after T0, channel, series, value)."""
    return pa.table(
        [
            pa.array([T0 + round(at * SECOND_NS) for at, *_ in rows]).view(pa.timestamp("ns")),
            pa.array([row[1] for row in rows]),
            pa.array([row[2] for row in rows], pa.int32()),
            pa.array([row[3] for row in rows], pa.float64()),
            pa.array([counter] * len(rows)),
        ],
        schema=READINGS,
    )


def rates(table: pa.Table, start_s: float = 0) -> list[tuple[float, int, float]]:
    """(seconds after T0, channel, value) in the order of the samples."""
    found = samples(table, T0 + round(start_s * SECOND_NS), PERIOD_NS)
    stamps = found["ts"].cast(pa.int64()).to_pylist()
    rows = zip(stamps, found["channel_id"].to_pylist(), found["value"].to_pylist(), strict=True)
    return [((ts - T0) / SECOND_NS, channel, value) for ts, channel, value in rows]


def test_a_counter_becomes_units_a_second_by_the_time_that_passed() -> None:
    table = readings((0, 1, 0, 1000), (10, 1, 0, 1500), (25, 1, 0, 1530))
    assert rates(table) == [(10, 1, 50.0), (25, 1, 2.0)]
    assert samples(table, T0, PERIOD_NS)["dt"].to_pylist() == [10.0, 15.0]


def test_after_a_reset_one_rate_is_absent() -> None:
    table = readings((0, 1, 0, 1000), (10, 1, 0, 40), (20, 1, 0, 90))
    assert rates(table) == [(20, 1, 5.0)]


def test_no_rate_is_taken_over_a_gap() -> None:
    table = readings((0, 1, 0, 0), (10, 1, 0, 100), (50, 1, 0, 900), (60, 1, 0, 1000))
    assert rates(table) == [(10, 1, 10.0), (60, 1, 10.0)]


def test_readings_before_the_start_only_tell_what_is_grown_from() -> None:
    table = readings((0, 1, 0, 0), (10, 1, 0, 100), (20, 1, 0, 300))
    assert rates(table, start_s=20) == [(20, 1, 20.0)]


def test_counters_of_one_channel_are_added_up_each_from_its_own_reading() -> None:
    table = readings((0, 1, 0, 100), (0, 1, 1, 9000), (10, 1, 0, 200), (10, 1, 1, 9010))
    assert rates(table) == [(10, 1, 11.0)]


def test_a_counter_beyond_what_float32_can_tell_apart_gives_an_exact_rate() -> None:
    table = readings((0, 1, 0, 5e15), (10, 1, 0, 5e15 + 30))
    assert rates(table) == [(10, 1, 3.0)]


def test_gauges_stay_as_they_are() -> None:
    assert rates(readings((0, 1, 0, 7.5), (10, 1, 0, 3.5), counter=False)) == [(0, 1, 7.5), (10, 1, 3.5)]


def test_samples_come_by_channel_and_time() -> None:
    table = readings((10, 2, 0, 1), (0, 2, 0, 2), (5, 1, 0, 3), counter=False)
    assert rates(table) == [(5, 1, 3.0), (0, 2, 2.0), (10, 2, 1.0)]
