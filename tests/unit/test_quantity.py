from __future__ import annotations

import math

import pytest

from hostsight.quantity import quantity


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (97.21, "%", "97.2 %"),
        (100.0, "percent", "100 %"),
        (3.14, "%", "3.14 %"),
        (0.0312, "%", "0.031 %"),
        (0.0312e-3, "%", "about 0 %"),
        (0.0, "%", "0 %"),
        (-0.0, "%", "0 %"),
        (3.2e9, "B", "3.2 GB"),
        (1.2345e8, "B/s", "123 MB/s"),
        (999.7, "B", "1 kB"),
        (999_900.0, "bytes", "1 MB"),
        (-1536.0, "B", "-1.54 kB"),
        (0.04, "s", "40 ms"),
        (0.99961, "s", "1 s"),
        (2.5e-5, "s", "25 µs"),
        (1e-9, "s", "1 ns"),
        (0, "s", "0 s"),
        (0.25, "s/s", "250 ms/s"),
        (812_345, "packets/s", "812k packets/s"),
        (2.5, "sockets", "2.5 sockets"),
        (2200, "rpm", "2.2k rpm"),
        (1.2e4, "1/s", "12k/s"),
        (-5, "1", "-5"),
        (0.3333, "ratio", "0.333"),
        (0.72, "", "0.72"),
        (2.4e9, "Hz", "2.4 GHz"),
        (41.25, "celsius", "41.2 °C"),
        (math.nan, "B", "unknown"),
        (-math.inf, "B", "unknown"),
        (None, "B", "unknown"),
    ],
)
def test_three_digits_and_one_prefix(value: float | None, unit: str, words: str) -> None:
    assert quantity(value, unit) == words
