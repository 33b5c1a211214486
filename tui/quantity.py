"""Values with units, durations and instants as a person reads them: three significant digits, one prefix."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from hostsight.clock import SECOND_NS
from hostsight.prefixes import LARGE, SMALL, prefixed

ABSENT = "–"
_NAMES = {"percent": "%", "bytes": "B", "seconds": "s", "hertz": "Hz", "celsius": "°C", "watts": "W"}
LONGEST_SYMBOL = 3
_MEASURED = set(_NAMES.values())
_BARE = {"", "1", "count", "ratio"}


def quantity(value: float | None, unit: str) -> str:
    """`12.3 %`, `1.20 GB/s`, `340 µs`, `2.50 k/s`, `2.50k pages/s`; `–` for None, NaN and infinities."""
    if value is None or not math.isfinite(value):
        return ABSENT
    name, slash, per = unit.partition("/")
    symbol = _NAMES.get(name, "" if name in _BARE else name)
    number, prefix = _scaled(value, symbol)
    if not prefix and symbol not in _MEASURED and value == round(value):
        number = f"{value:.0f}"
    if len(symbol) > LONGEST_SYMBOL:
        return f"{number}{prefix} {symbol}{slash}{per}"
    tail = f"{prefix}{symbol}{slash}{per}"
    return f"{number} {tail}" if tail else number


def _scaled(value: float, symbol: str) -> tuple[str, str]:
    if symbol in {"%", "°C"}:
        return _digits(value), ""
    number, prefix = prefixed(value, SMALL if symbol == "s" else LARGE)
    return _digits(number), prefix


def _digits(value: float) -> str:
    size = abs(value)
    if size == 0:
        return "0"
    if size >= 1e6 or size < 1e-4:
        return f"{value:.2e}"
    decimals = max(0, 2 - math.floor(math.log10(size * 1.0005)))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if size < 0.99 else text


def duration(seconds: float) -> str:
    """Two units at most: `4 s`, `2 min 5 s`, `3 h 10 min`, `2 d 4 h`."""
    whole = max(0, round(seconds))
    for size, name, lower, lower_name in (
        (86_400, "d", 3600, "h"),
        (3600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= size:
            rest = whole % size // lower
            return f"{whole // size} {name}" + (f" {rest} {lower_name}" if rest else "")
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
