"""A value with its unit, as people read it everywhere: in sentences, tables and the console."""

from __future__ import annotations

import math

from hostsight.prefixes import LARGE, SMALL, prefixed

_SYMBOLS = {"percent": "%", "bytes": "B", "seconds": "s", "hertz": "Hz", "celsius": "°C", "watts": "W"}
_PREFIXED = {"B", "s", "Hz", "W", "V", "A"}
_PLAIN = {"%", "°C"}
_BARE = {"", "1", "count", "ratio"}
_DECIMALS = 3


def quantity(value: float | None, unit: str, absent: str = "unknown") -> str:
    """`97.2 %`, `1.2 GB/s`, `340 µs`, `812k packets/s`, `12k/s`: three digits and one prefix at most.

    `absent` stands for None, NaN and infinities. What is not 0, but too small for three decimals, is `about 0`.
    """
    if value is None or not math.isfinite(value):
        return absent
    name, slash, per = unit.partition("/")
    symbol = _SYMBOLS.get(name, name)
    rate = slash + per
    if symbol in _PLAIN:
        return f"{_digits(value)} {symbol}{rate}"
    number, prefix = prefixed(value, SMALL if symbol == "s" else LARGE)
    if symbol in _PREFIXED:
        return f"{_digits(number)} {prefix}{symbol}{rate}"
    counted = "" if symbol in _BARE else f" {symbol}"
    return f"{_digits(number)}{prefix}{counted}{rate}"


def _digits(value: float) -> str:
    size = abs(value)
    if size == 0:
        return "0"
    if size < 0.5 * 10**-_DECIMALS:
        return "about 0"
    decimals = min(_DECIMALS, max(0, 2 - math.floor(math.log10(size * 1.0005))))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
