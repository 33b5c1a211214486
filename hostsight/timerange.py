"""One grammar of durations and time ranges for the command line, the console and settings.

duration   90s  5m  1h30m  250ms  2d           (ns, us, ms, s, m, h, d, w; a bare number is refused)
instant    now  now-6h  2026-01-31T12:00:00Z  2026-01-31
range      now-6h..now-1h  or  INSTANT..  (up to now)  or  6h (the last six hours)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from hostsight.clock import SECOND_NS, iso
from hostsight.errors import UsageError

_UNITS_NS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": SECOND_NS,
    "m": 60 * SECOND_NS,
    "h": 3600 * SECOND_NS,
    "d": 86_400 * SECOND_NS,
    "w": 7 * 86_400 * SECOND_NS,
}
MAX_NS = 2**63 - 1
_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|s|m|h|d|w)")


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Half-open: `start_ns <= t < end_ns`."""

    start_ns: int
    end_ns: int

    def __post_init__(self) -> None:
        if self.end_ns < self.start_ns:
            raise UsageError(
                f"the time range ends ({iso(self.end_ns)}) before it starts ({iso(self.start_ns)})"
            )

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.start_ns) / SECOND_NS

    def __bool__(self) -> bool:
        return self.end_ns > self.start_ns

    def contains(self, other: TimeRange) -> bool:
        return self.start_ns <= other.start_ns and other.end_ns <= self.end_ns

    def overlaps(self, other: TimeRange) -> bool:
        return self.start_ns < other.end_ns and other.start_ns < self.end_ns


def parse_duration_ns(text: str) -> int:
    """Nanoseconds of `90s`, `1h30m`; raises UsageError that shows the accepted form."""
    compact = text.strip().lower().replace(" ", "")
    parts = _PART.findall(compact)
    if not parts or "".join(number + unit for number, unit in parts) != compact:
        raise UsageError(f"'{text}' is not a duration; write it as 90s, 5m, 1h30m or 250ms")
    return sum(
        int(number) * _UNITS_NS[unit] if number.isdigit() else round(float(number) * _UNITS_NS[unit])
        for number, unit in parts
    )


def format_duration(seconds: float) -> str:
    """The shortest exact form in the grammar, such as `1h30m`, `90ms`, `0s`."""
    rest = round(seconds * SECOND_NS)
    out = []
    for unit in ("d", "h", "m", "s", "ms", "us", "ns"):
        count, rest = divmod(rest, _UNITS_NS[unit])
        if count:
            out.append(f"{count}{unit}")
    return "".join(out) or "0s"


def _known(ns: int, text: str) -> int:
    """`ns` from 1970 on; raises UsageError beyond 2262, where nanoseconds leave 64 bits."""
    if ns > MAX_NS:
        raise UsageError(f"'{text}' lies beyond the year 2262; write now, now-6h or 2026-01-31T12:00:00Z")
    return max(0, ns)


def parse_instant_ns(text: str, now_ns: int) -> int:
    """From 1970 (what lies before is taken as 1970) to 2262; raises UsageError."""
    word = text.strip()
    if word.lower() == "now":
        return now_ns
    if word.lower().startswith(("now-", "now+")):
        step = parse_duration_ns(word[4:])
        return _known(now_ns - step if word[3] == "-" else now_ns + step, text)
    try:
        stamp = datetime.fromisoformat(word)
    except ValueError as error:
        raise UsageError(f"'{text}' is not a time; write now, now-6h or 2026-01-31T12:00:00Z") from error
    if stamp.tzinfo is None:
        stamp = stamp.replace(tzinfo=UTC)
    return _known(round(stamp.timestamp() * 1_000_000) * 1_000, text)


def parse_range(text: str, now_ns: int) -> TimeRange:
    """`now-6h..now-1h`, `2026-01-31..` or a duration, which means the last so much."""
    if ".." not in text:
        word = text.strip()
        if word.lower().startswith("now") or not _PART.match(word.lower()):
            return TimeRange(parse_instant_ns(word, now_ns), now_ns)
        try:
            return TimeRange(_known(now_ns - parse_duration_ns(word), word), now_ns)
        except UsageError:
            return TimeRange(parse_instant_ns(word, now_ns), now_ns)
    start, _, end = text.partition("..")
    return TimeRange(parse_instant_ns(start, now_ns), parse_instant_ns(end or "now", now_ns))
