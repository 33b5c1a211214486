"""Counters turned into rates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ingest.collector import Metric, Slot
from ingest.rates import Rates

SECOND = 10**9


def counter(scale: float = 1.0, device: str = "eth0") -> Slot:
    metric = Metric("rx_bytes_per_s", "B/s", "rate", "received", scale=scale)
    return Slot("network", device, metric, 0.001, "/proc/net/dev")


def series(raws: Sequence[float], scale: float = 1.0, step_ns: int = SECOND) -> list[float]:
    """The rates of one counter read every `step_ns`."""
    rates = Rates([counter(scale)])
    return [
        float(rates.values(np.array([raw], dtype=np.float64), at * step_ns)[0]) for at, raw in enumerate(raws)
    ]


def test_the_first_reading_has_no_rate() -> None:
    assert np.isnan(series([5.0])[0])


def test_a_rate_is_per_second_of_the_interval() -> None:
    assert series([0, 50], step_ns=SECOND // 10)[1] == pytest.approx(500)


def test_the_scale_applies_to_rates() -> None:
    assert series([0, 25], scale=4.0)[1] == 100


def test_gauges_are_scaled_and_need_no_second_reading() -> None:
    gauge = Slot("memory", "host", Metric("free_bytes", "B", "gauge", "free", scale=1024), 1, "/proc/meminfo")
    assert Rates([gauge]).values(np.array([3.0]), 0)[0] == 3072


def test_a_step_back_of_a_few_units_is_no_negative_rate_and_is_not_counted_twice() -> None:
    assert series([1000, 998, 1003])[1:] == [0, 3]


def test_a_small_share_back_is_zero_once_then_counted_from_there() -> None:
    assert series([1_000_000, 995_000, 995_700])[1:] == [0, 700]


def test_a_reset_is_absent_once() -> None:
    rates = series([1_000_000, 40, 90])
    assert np.isnan(rates[1])
    assert rates[2] == 50


def test_a_wrap_of_32_bits_is_absent_once() -> None:
    rates = series([2.0**32 - 100, 50, 80])
    assert np.isnan(rates[1])
    assert rates[2] == 30


def test_one_cpu_of_many_that_wraps_makes_their_sum_absent_once() -> None:
    metric = Metric("softirqs_per_s", "interrupts/s", "rate", "of all CPUs", wrap=32)
    rates = Rates([Slot("cpu", "host", metric, 0.001, "/proc/softirqs")])
    total = 1000 * 2.0**32
    raws = [total, total + 500 - 2**32, total + 700 - 2**32]
    values = [float(rates.values(np.array([raw]), at * SECOND)[0]) for at, raw in enumerate(raws)]
    assert np.isnan(values[1])
    assert values[2] == 200


def test_an_absent_reading_starts_anew() -> None:
    rates = series([10, np.nan, 30, 35])
    assert np.isnan(rates[1:3]).all()
    assert rates[3] == 5


def test_two_readings_at_one_instant_give_no_rate() -> None:
    assert np.isnan(series([1, 2], step_ns=0)[1])


def test_large_counters_keep_single_units() -> None:
    assert series([2.0**53 - 3, 2.0**53 - 2])[1] == 1


def test_infinite_readings_never_become_a_number() -> None:
    with np.errstate(invalid="ignore"):
        assert not np.isfinite(series([1, np.inf, np.inf])[1:]).any()


def test_forgetting_makes_the_next_reading_the_first() -> None:
    rates = Rates([counter()])
    rates.values(np.array([1.0]), 0)
    rates.restart()
    assert np.isnan(rates.values(np.array([5.0]), SECOND)[0])


def test_counters_that_stay_keep_counting_when_the_list_changes() -> None:
    rates = Rates([counter(device="eth0"), counter(device="eth1")])
    rates.values(np.array([10.0, 20.0]), 0)
    new = rates.relisted([counter(device="eth2"), counter(device="eth1")])
    values = new.values(np.array([7.0, 26.0]), SECOND)
    assert np.isnan(values[0])
    assert values[1] == 6


@pytest.mark.parametrize("device", ["host", "node1"])
def test_a_sum_starts_anew_when_the_list_changes(device: str) -> None:
    rates = Rates([counter(device=device), counter(device="cpu1")])
    rates.values(np.array([3000.0, 1000.0]), 0)
    without = rates.relisted([counter(device=device)])
    assert np.isnan(without.values(np.array([2000.0]), SECOND)[0])
