"""Values as a person reads them."""

from __future__ import annotations

from datetime import datetime

from hostsight.prefixes import LARGE, prefixed
from hostsight.timerange import format_duration


def size(count: int | None) -> str:
    """`1.5 GB`; powers of 1000."""
    if count is None:
        return "unknown"
    number, prefix = prefixed(count, LARGE)
    return f"{number:.3g} {prefix}B"


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
