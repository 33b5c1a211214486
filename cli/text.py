"""Values as a person reads them."""

from __future__ import annotations

from datetime import datetime

from hostsight.timerange import format_duration

_SI = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def size(count: int | None) -> str:
    """`1.5 GB`; powers of 1000."""
    return "unknown" if count is None else f"{_scaled(float(count))}B"


def _scaled(value: float) -> str:
    for factor, prefix in _SI:
        if abs(value) >= factor:
            return f"{value / factor:.3g} {prefix}"
    return f"{value:.3g} "


def percent(share: float) -> str:
    """`45 %` of 0.45."""
    return f"{share * 100:.3g} %"


def rough_duration(seconds: float | None) -> str:
    """`1h30m`, `12s`, `340ms`: two units at most."""
    if seconds is None:
        return ""
    for step, below in ((0.001, 1), (0.1, 10), (1, 3600), (60, 86_400)):
        if seconds < below:
            return format_duration(round(seconds / step) * step)
    return format_duration(round(seconds / 3600) * 3600)


def distance(now: str, then: str | None) -> str:
    """`12s ago`, `in 3m`, of two ISO 8601 times; empty where there is no `then`."""
    if then is None:
        return ""
    seconds = (datetime.fromisoformat(then) - datetime.fromisoformat(now)).total_seconds()
    whole = rough_duration(round(abs(seconds)))
    return f"in {whole}" if seconds > 0 else f"{whole} ago"


def plural(count: int, word: str) -> str:
    """`1 episode`, `2 episodes`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"
