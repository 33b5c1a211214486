"""Values and episodes in words."""

from __future__ import annotations

import math

from hostsight.channel import WHOLE_HOST
from models.attribution import Attribution

_UNIT_ENDINGS = (
    "_bytes_per_s",
    "_per_s",
    "_percent",
    "_bytes",
    "_seconds",
    "_ratio",
    "_hertz",
    "_celsius",
    "_watts",
)
_LARGE = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SMALL = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_SYMBOLS = {
    "bytes": "B",
    "hertz": "Hz",
    "celsius": "°C",
    "watts": "W",
    "volts": "V",
    "percent": "%",
    "ratio": "",
}


def value(number: float, unit: str) -> str:
    """`97 %`, `1.2 GB/s`, `40 ms`, `812 k/s`: three digits at most, and the unit as people write it."""
    if not math.isfinite(number):
        return "unknown"
    base, per = (unit.removesuffix("/s"), "/s") if unit.endswith("/s") else (unit, "")
    if base == "seconds" and not per:
        return _seconds(number)
    symbol = _SYMBOLS.get(base, "")
    if base in {"percent", "celsius"}:
        return f"{_digits(number)} {symbol}{per}"
    factor, prefix = next(((f, p) for f, p in _LARGE if abs(number) >= 0.9995 * f), (1.0, ""))
    return f"{_digits(number / factor)} {prefix}{symbol}{per}".rstrip().replace(" /s", "/s")


def _seconds(number: float) -> str:
    factor, symbol = next(((f, s) for f, s in _SMALL if abs(number) >= 0.9995 * f), (1e-6, "µs"))
    return f"{_digits(number / factor)} {symbol}"


def _digits(number: float) -> str:
    size = abs(number)
    places = 0 if size >= 99.95 or size == 0 else 1 if size >= 9.995 else 2
    text = f"{number:.{places}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def metric(name: str) -> str:
    """The metric without its unit, in words: `rx_bytes_per_s` is `rx`."""
    for ending in _UNIT_ENDINGS:
        if name.endswith(ending) and len(name) > len(ending):
            return name.removesuffix(ending).replace("_", " ")
    return name.replace("_", " ")


def summary(main: Attribution) -> str:
    """One sentence on an episode's main channel, such as `cpu: busy is 97 %, usually 4 %`."""
    device = "" if main.device == WHOLE_HOST else f" {main.device}"
    actual, expected = value(main.actual, main.unit), value(main.expected, main.unit)
    if main.direction == "changed":
        return f"{main.subsystem}{device}: {metric(main.metric)} behaves unlike before, around {actual}"
    return f"{main.subsystem}{device}: {metric(main.metric)} is {actual}, usually {expected}"
