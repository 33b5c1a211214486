"""Metric prefixes, as three digits are shown with: 999.5 prints as 1000 and so takes the next one."""

from __future__ import annotations

Prefixes = tuple[tuple[float, str], ...]
"""(factor, prefix), the largest first."""

LARGE: Prefixes = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
SMALL: Prefixes = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


def prefixed(value: float, prefixes: Prefixes) -> tuple[float, str]:
    """`value` in the largest of `prefixes` that leaves at least 1, and that prefix; a smaller one in the last of them."""
    size = abs(value)
    if size == 0:
        return value, ""
    factor, prefix = next((one for one in prefixes if size >= 0.9995 * one[0]), prefixes[-1])
    return value / factor, prefix
