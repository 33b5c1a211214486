"""Values as a person reads them."""

from __future__ import annotations

import math

import pytest

from hostsight.clock import SECOND_NS
from tui.quantity import duration, instant, probability, quantity


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (12.345, "%", "12.3 %"),
        (0.0, "%", "0 %"),
        (100.0, "percent", "100 %"),
        (1.2e9, "B/s", "1.20 GB/s"),
        (999_900.0, "bytes", "1.00 MB"),
        (512.0, "B", "512 B"),
        (0.00034, "s", "340 µs"),
        (0.99961, "s", "1.00 s"),
        (90.0, "seconds", "90.0 s"),
        (2500.0, "1/s", "2.50 k/s"),
        (2500.0, "interrupts/s", "2.50k interrupts/s"),
        (3.0, "sockets", "3 sockets"),
        (2.5, "sockets", "2.50 sockets"),
        (2.4e9, "Hz", "2.40 GHz"),
        (0.25, "1", "0.25"),
        (-1536.0, "B", "-1.54 kB"),
        (math.nan, "%", "–"),
        (math.inf, "B", "–"),
        (None, "B", "–"),
    ],
)
def test_three_digits_and_one_prefix(value: float | None, unit: str, words: str) -> None:
    assert quantity(value, unit) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (4, "4 s"),
        (60, "1 min"),
        (125, "2 min 5 s"),
        (11_400, "3 h 10 min"),
        (187_200, "2 d 4 h"),
        (-3, "0 s"),
    ],
)
def test_durations_have_two_units_at_most(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_an_instant_of_another_day_names_the_day() -> None:
    now = 1_800_000_000 * SECOND_NS  # 2027-01-15 08:00:00 UTC
    assert instant(now - 5 * SECOND_NS, now) == "07:59:55"
    assert instant(now - 86_400 * SECOND_NS, now) == "14 Jan 08:00"


@pytest.mark.parametrize(
    ("value", "words"), [(0.01, "1 %"), (2e-5, "1 in 50,000"), (0.0, "under 1 in 10⁹"), (math.nan, "–")]
)
def test_small_probabilities_are_odds(value: float, words: str) -> None:
    assert probability(value) == words
