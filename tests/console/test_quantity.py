"""Values as a person reads them."""

from __future__ import annotations

import math

import pytest

from hostsight.clock import SECOND_NS
from tui.quantity import duration, instant, probability, quantity


def test_the_console_shows_a_dash_for_what_is_absent() -> None:
    assert quantity(None, "B") == "–"
    assert quantity(1.2e9, "B/s") == "1.2 GB/s"


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
