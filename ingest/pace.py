"""How often to tick when the host has little to tell: `[agent] adaptive`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hostsight.channel import WHOLE_HOST, Channel
from hostsight.clock import SECOND_NS

IDLE_BUSY_PERCENT = 20.0
"""A host that is busier than this is not idle, however steadily."""
CALM_SECONDS = 30
"""So long nothing remarkable must have been seen before the ticks become rare."""

_MEMORY_SECONDS = 60.0
"""Time constant of the usual level that a channel is compared with."""
_ONE_CPU_SHARE = 25.0
"""Of one CPU's time, per cent: so much more work than usual on the whole host is a sign."""
_SIGNS: dict[str, float] = {
    "%": 10.0,
    "B/s": 1e6,
    "errors/s": 0.5,
    "drops/s": 0.5,
    "retransmits/s": 5.0,
    "requests/s": 200.0,
    "tasks": 2.0,
    "pages/s": 20_000.0,
    "forks/s": 50.0,
    "switches/s": 5_000.0,
    "packets/s": 2_000.0,
}
"""Unit -> deviation from the usual level that is a sign, where it is also more than that level itself."""
_CPU = re.compile(r"cpu\d+")
_ONE_CPU = 40.0
"""Of a single CPU, per cent."""


class Pace:
    """Says after each tick how long the next one is: `tick_ns`, or `idle_ns` while the host is idle and unremarkable.

    Ticks are judged by their mean over `idle_ns`, so that both rates see the same figures. Until CALM_SECONDS have passed
    without a sign the rate is full; at the first sign in a slow tick, or a new layout, the very next tick is a fast one.
    """

    def __init__(self, tick_ns: int, idle_ns: int) -> None:
        self.tick_ns = tick_ns
        """Length of the next tick."""
        self._fast_ns = tick_ns
        self._idle_ns = max(tick_ns, idle_ns)
        self._channels: Sequence[Channel] = ()
        self._busy: int | None = None
        self._watched = np.empty(0, dtype=np.intp)
        self._floor = np.empty(0)
        self._usual = np.empty(0)
        self._calm = 0.0
        self._empty()

    def follow(self, values: NDArray[np.float32], channels: Sequence[Channel], dt: float) -> int:
        """`values`: float32[channels] of the tick that was just taken, `dt` seconds long. The next tick's length."""
        if channels is not self._channels:
            self._lay_out(channels)
        watched = values[self._watched].astype(np.float64)
        present = np.isfinite(watched)
        self._total[present] += watched[present] * dt
        self._weight[present] += dt
        self._seconds += dt
        if self._seconds >= 0.95 * self._idle_ns / SECOND_NS:
            self._judge()
        return self.tick_ns

    def _judge(self) -> None:
        seconds = self._seconds
        with np.errstate(invalid="ignore", divide="ignore"):
            level = self._total / self._weight
        self._empty()
        deviation = np.abs(level - self._usual)
        sign = bool(np.any(deviation > np.maximum(self._floor, np.abs(self._usual))))
        self._learn(level, min(1.0, seconds / _MEMORY_SECONDS))
        idle = self._busy is not None and level[self._busy] <= IDLE_BUSY_PERCENT
        self._calm = self._calm + seconds if idle and not sign else 0.0
        self.tick_ns = self._idle_ns if self._calm >= CALM_SECONDS else self._fast_ns

    def _learn(self, level: NDArray[np.float64], share: float) -> None:
        fresh = np.isnan(self._usual)
        self._usual[fresh] = level[fresh]
        known = ~fresh & np.isfinite(level)
        self._usual[known] += share * (level[known] - self._usual[known])

    def _lay_out(self, channels: Sequence[Channel]) -> None:
        """A host whose channels change is not unremarkable."""
        cpus = sum(one.metric == "busy_percent" and bool(_CPU.fullmatch(one.device)) for one in channels)
        floors = [_floor(one, cpus or os.cpu_count() or 1) for one in channels]
        self._channels = channels
        self._watched = np.array([at for at, floor in enumerate(floors) if floor], dtype=np.intp)
        self._floor = np.array([floor for floor in floors if floor])
        self._usual = np.full(len(self._floor), np.nan)
        busy = [(one.device, one.metric) for one, floor in zip(channels, floors, strict=True) if floor]
        whole = (WHOLE_HOST, "busy_percent")
        self._busy = busy.index(whole) if whole in busy else None
        self._restart()

    def _restart(self) -> None:
        self.tick_ns = self._fast_ns
        self._calm = 0.0
        self._empty()

    def _empty(self) -> None:
        self._total = np.zeros(len(self._floor))
        self._weight = np.zeros(len(self._floor))
        self._seconds = 0.0


def _floor(channel: Channel, cpus: int) -> float:
    """The smallest deviation of a channel that is a sign; 0 for one that is not watched."""
    if channel.subsystem == "agent" or channel.kind not in {"rate", "gauge"}:
        return 0.0
    if channel.subsystem == "cpu" and channel.unit == "%" and _CPU.fullmatch(channel.device):
        return _ONE_CPU if channel.metric == "busy_percent" else 0.0
    if (channel.device, channel.metric) == (WHOLE_HOST, "busy_percent"):
        return _ONE_CPU_SHARE / cpus
    return _SIGNS.get(channel.unit, 0.0)
