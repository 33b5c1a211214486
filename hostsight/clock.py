"""Clocks: wall time for stamps, monotonic time for intervals, and a fake for tests.

All wall times inside hostsight are integers: nanoseconds since the epoch, UTC.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol

SECOND_NS = 1_000_000_000


class Clock(Protocol):
    def wall_ns(self) -> int: ...
    def monotonic_ns(self) -> int: ...
    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    wall_ns = staticmethod(time.time_ns)
    monotonic_ns = staticmethod(time.monotonic_ns)

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))


class FakeClock:
    """A clock that moves only when told to; `sleep` moves it."""

    def __init__(self, wall_ns: int = 1_700_000_000 * SECOND_NS, monotonic_ns: int = 0) -> None:
        self._wall_ns = wall_ns
        self._monotonic_ns = monotonic_ns

    def wall_ns(self) -> int:
        return self._wall_ns

    def monotonic_ns(self) -> int:
        return self._monotonic_ns

    def sleep(self, seconds: float) -> None:
        self.advance(max(0.0, seconds))

    def advance(self, seconds: float) -> None:
        step = round(seconds * SECOND_NS)
        self._wall_ns += step
        self._monotonic_ns += step

    def step_wall(self, seconds: float) -> None:
        """Set the wall clock forward or back, as an administrator or NTP would."""
        self._wall_ns += round(seconds * SECOND_NS)


def iso(ns: int | None) -> str | None:
    """ISO 8601 in UTC with `Z` and milliseconds; None stays None."""
    if ns is None:
        return None
    stamp = datetime.fromtimestamp(ns // SECOND_NS, UTC)
    return f"{stamp:%Y-%m-%dT%H:%M:%S}.{ns % SECOND_NS // 1_000_000:03d}Z"


def floor_second(ns: int) -> int:
    return ns - ns % SECOND_NS
