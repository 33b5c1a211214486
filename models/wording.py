"""Values and episodes in words."""

from __future__ import annotations

import math

from hostsight.channel import WHOLE_HOST
from hostsight.prefixes import LARGE, SMALL, Prefixes, prefixed
from models.attribution import Attribution

_SYMBOLS = {"B", "Hz", "W", "V"}
_UNIT_ENDINGS = ("bytes", "percent", "seconds", "ratio", "hertz", "celsius", "watts", "volts")


def value(number: float, unit: str) -> str:
    """`97 %`, `1.2 GB/s`, `40 ms`, `812k packets/s`: three digits at most, and the unit as people write it."""
    if not math.isfinite(number):
        return "unknown"
    base, per = (unit.removesuffix("/s"), "/s") if unit.endswith("/s") else (unit, "")
    if unit == "s":
        return _scaled(number, SMALL, " ") + "s"
    if base in _SYMBOLS:
        return _scaled(number, LARGE, " ") + base + per
    if base in {"%", "°C"}:
        return f"{number:.0f} {unit}" if abs(number) >= 9.5 else f"{_digits(number)} {unit}"
    counted = "" if base in {"", "1", "ratio"} else f" {base}"
    return _scaled(number, LARGE, "") + counted + per


def _scaled(number: float, prefixes: Prefixes, space: str) -> str:
    scaled, prefix = prefixed(number, prefixes)
    return f"{_digits(scaled)}{space}{prefix}"


def _digits(number: float) -> str:
    size = abs(number)
    places = 0 if size >= 99.95 else 1 if size >= 9.995 else 2
    text = f"{number:.{places}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in {"-0", ""} else text


def metric(name: str) -> str:
    """The metric in words, without what its value's unit says already: `rx_bytes_per_s` is `rx`."""
    words = name.removesuffix("_per_s").split("_")
    if len(words) > 1 and words[-1] in _UNIT_ENDINGS:
        words.pop()
    return " ".join(words)


def summary(main: Attribution) -> str:
    """One sentence on an episode's main channel, such as `cpu: busy is 97 %, usually 4 %`."""
    device = "" if main.device == WHOLE_HOST else f" {main.device}"
    name = metric(main.metric)
    subject = f"{main.subsystem}{device}: {name}"
    plural = name.endswith("s") and not name.endswith("ss")
    actual, expected = (_bare(value(number, main.unit), name) for number in (main.actual, main.expected))
    if main.direction == "changed":
        return f"{subject} {'behave' if plural else 'behaves'} unlike before, around {actual}"
    return f"{subject} {'are' if plural else 'is'} {actual}, usually {expected}"


def _bare(text: str, name: str) -> str:
    """`812k packets/s` of `rx packets` is `812k/s`."""
    return text.replace(f" {name.rsplit(maxsplit=1)[-1]}", "", 1)
