"""When a host's baseline is to be learnt, or learnt again: after the warm-up, then whenever its history has doubled."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

from hostsight.clock import SECOND_NS
from hostsight.settings import Settings
from jobs.requests import Why
from models.baseline import FEWEST_WINDOWS

RETRY_WINDOWS = 30
"""A first baseline that could not be fitted is tried again after so many more windows."""


@dataclass(frozen=True, slots=True)
class History:
    """Data range of the newest model that was fitted, live or not."""

    from_ns: int
    to_ns: int

    def doubled(self, position_ns: int) -> bool:
        return position_ns - self.from_ns >= 2 * (self.to_ns - self.from_ns)


def newest_history(connection: sqlite3.Connection, host: str) -> History | None:
    row = connection.execute(
        "SELECT trained_from_ns, trained_to_ns FROM models WHERE host = ? ORDER BY created_ns DESC LIMIT 1",
        (host,),
    ).fetchone()
    return History(row["trained_from_ns"], row["trained_to_ns"]) if row else None


def warmup_windows(settings: Settings) -> int:
    """How many windows end within the warm-up's telemetry; never fewer than a baseline needs."""
    window = settings.window
    return max(FEWEST_WINDOWS, (settings.detect.warmup.ns - window.length.ns) // window.stride.ns + 1)


@dataclass(slots=True)
class Learning:
    """`windows`: how many windows the host has so far."""

    settings: Settings
    windows: int = 0
    _next_try: int = field(default=0, init=False)
    _asked_for: History | None = field(default=None, init=False)

    @property
    def progress(self) -> float:
        return min(1.0, self.windows / warmup_windows(self.settings))

    def due(self, history: History | None, position_ns: int, *, live: bool) -> Why | None:
        """Why a refit is to be asked for now, if it is; says so once an occasion."""
        if not live:
            why = self._warm_up()
            return "unusable" if why and history is not None else why
        if history is None or history == self._asked_for or not self._grows(history, position_ns):
            return None
        self._asked_for = history
        return "growth"

    def _warm_up(self) -> Why | None:
        if self.windows < max(self._next_try, warmup_windows(self.settings)):
            return None
        self._next_try = self.windows + RETRY_WINDOWS
        return "warm-up"

    def _grows(self, history: History, position_ns: int) -> bool:
        """Once a day's history is learnt from, the nightly refit alone carries on."""
        span_ns = self.settings.detect.train_span.ns
        return history.doubled(position_ns) and history.to_ns - history.from_ns < span_ns // 2

    @property
    def activity(self) -> str:
        needed = warmup_windows(self.settings)
        if self.windows < needed:
            stride = self.settings.window.stride.ns / SECOND_NS
            left = round((needed - self.windows) * stride)
            return f"learning what is normal here: {self.windows} of {needed} windows, {left} s to go"
        return "fitting a baseline"
