"""Values with units, durations, instants and odds as the console shows them."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from hostsight.clock import SECOND_NS
from hostsight.quantity import quantity as worded

ABSENT = "–"


def quantity(value: float | None, unit: str) -> str:
    """Three digits, one prefix and the unit; `–` for None, NaN and infinities."""
    return worded(value, unit, ABSENT)


def duration(seconds: float, parts: int = 2) -> str:
    """Two units at most: `4 s`, `2 min 5 s`, `3 h 10 min`, `2 d 4 h`; with one part: `2 min`, `3 h`, `2 d`."""
    whole = max(0, round(seconds))
    for size, name, lower, lower_name in (
        (86_400, "d", 3600, "h"),
        (3600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= size:
            rest = whole % size // lower
            return f"{whole // size} {name}" + (f" {rest} {lower_name}" if rest and parts > 1 else "")
    return f"{whole} s"


def instant(ns: int, now_ns: int) -> str:
    """`12:00:05` when it lies within a day of now, else `31 Jan 12:00`; UTC."""
    stamp = datetime.fromtimestamp(ns // SECOND_NS, UTC)
    near = abs(now_ns - ns) < 86_400 * SECOND_NS
    return f"{stamp:%H:%M:%S}" if near else f"{stamp.day} {stamp:%b %H:%M}"


def probability(value: float) -> str:
    """`0.3 %`, `1 in 50,000`: readable over many orders of magnitude."""
    if not math.isfinite(value):
        return ABSENT
    if value >= 1e-3:
        return f"{100 * value:.3g} %"
    if value < 1e-9:
        return "under 1 in 10⁹"
    return f"1 in {float(f'{1 / value:.2g}'):,.0f}"
