"""Whatever a counter does, a rate is absent or not negative."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ingest.collector import Metric, Slot
from ingest.rates import Rates

SLOT = Slot("cpu", "host", Metric("events_per_s", "1/s", "rate", "events"), 0.01, "test")
RAW = st.one_of(st.integers(0, 2**64 - 1).map(float), st.sampled_from([np.nan, np.inf, -np.inf, -1.0]))


@given(st.lists(st.tuples(RAW, st.integers(0, 10**12)), max_size=30))
def test_no_rate_is_negative(readings: list[tuple[float, int]]) -> None:
    rates, now = Rates([SLOT]), 0
    for raw, step_ns in readings:
        now += step_ns
        with np.errstate(invalid="ignore", over="ignore"):
            value = rates.values(np.array([raw]), now)[0]
        assert not (np.isfinite(value) and value < 0)


@given(st.lists(st.integers(0, 10**9), min_size=2, max_size=50))
def test_what_a_counter_grew_by_is_what_its_rates_add_up_to(steps: list[int]) -> None:
    rates, raw, counted = Rates([SLOT]), 0, 0.0
    for at, step in enumerate(steps):
        raw += step
        value = rates.values(np.array([float(raw)]), at * 10**9)[0]
        counted += 0 if at == 0 else value
    assert counted == sum(steps[1:])
