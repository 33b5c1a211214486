from __future__ import annotations

import pytest

from hostsight.prefixes import LARGE, SMALL, Prefixes, prefixed


@pytest.mark.parametrize(
    ("value", "prefixes", "number", "prefix"),
    [
        (0.0, LARGE, 0.0, ""),
        (0.25, LARGE, 0.25, ""),
        (999.4, LARGE, 999.4, ""),
        (999.5, LARGE, 0.9995, "k"),
        (-2.5e9, LARGE, -2.5, "G"),
        (3e18, LARGE, 3000.0, "P"),
        (60.0, SMALL, 60.0, ""),
        (0.9996, SMALL, 0.9996, ""),
        (0.25, SMALL, 250.0, "m"),
        (2e-12, SMALL, 0.002, "n"),
    ],
)
def test_a_value_takes_the_largest_prefix_that_leaves_a_whole_number(
    value: float, prefixes: Prefixes, number: float, prefix: str
) -> None:
    shown, letters = prefixed(value, prefixes)
    assert shown == pytest.approx(number)
    assert letters == prefix
