"""Hosts of one job compared with each other: of twenty that do the same, the one that does not do as the others do.

What usually sets a host apart is learnt while it is compared, in a minute, and anew over `[detect] accept_after`: a host that is
different for good is no deviation then. What all hosts do at once is a job, and raises nothing here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from hostsight.channel import WHOLE_HOST, Channel
from models.effects import smallest_effects
from models.peers import FEWEST, MINORITY, SPREADS, Comparison, median, nothing
from models.protocol import Floats

Key = tuple[str, str, str]
Levels = NDArray[np.float32]

_WINDOWS = 16
"""How far hosts may be apart in what they have sent."""
_MOST = 32
"""Others that a host is compared with: more change a median little, and each would cost each host."""
_LEARNT = 60
"""Windows after which it is known what is usual."""


class Fleet:
    """The newest levels of all hosts. patterns: `[detect] peer_hosts`; hosts that match the same are peers."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = tuple(patterns)
        self._levels: dict[str, dict[str, dict[int, dict[Key, float]]]] = {}

    def group(self, host: str) -> str | None:
        """The first pattern that the host matches."""
        return next((pattern for pattern in self._patterns if fnmatchcase(host, pattern)), None)

    def note(self, group: str, host: str, end_ns: int, levels: dict[Key, float]) -> None:
        kept = self._levels.setdefault(group, {}).setdefault(host, {})
        kept[end_ns] = levels
        while len(kept) > _WINDOWS:
            del kept[min(kept)]

    def newest_common(self, group: str, host: str, end_ns: int) -> int | None:
        """End of the newest window up to `end_ns` that the host and at least two others have."""
        hosts = self._levels.get(group, {})
        for end in sorted((end for end in hosts.get(host, {}) if end <= end_ns), reverse=True):
            if sum(end in kept for kept in hosts.values()) >= FEWEST:
                return end
        return None

    def levels(self, group: str, end_ns: int) -> dict[str, dict[Key, float]]:
        """Of each host that has a window of that end."""
        return {host: kept[end_ns] for host, kept in self._levels.get(group, {}).items() if end_ns in kept}


@dataclass(slots=True)
class _Usual:
    """[channels]: how far this host is from the median of all, and how much that varies."""

    apart: Floats
    spread: Floats
    windows: int = 0

    def learn(self, apart: Floats, odd: NDArray[np.bool_], pace: float) -> None:
        """odd: what is no part of the usual variation."""
        self.windows += 1
        pace = max(pace, 1 / self.windows)
        known = np.isfinite(apart)
        change = np.where(known, apart - self.apart, 0.0)
        self.spread += np.where(known & ~odd, pace * (np.abs(change) - self.spread), 0.0)
        self.apart += pace * change


class FleetWatch:
    """Compares one host, whose windows follow each other. pace: of learning, a window's length in `[detect] accept_after`."""

    def __init__(self, fleet: Fleet, host: str, channels: Sequence[Channel], pace: float) -> None:
        self._fleet, self._host, self._pace = fleet, host, pace
        self._group = fleet.group(host)
        self._channels = channels
        self._compared = [place for place, channel in enumerate(channels) if _alike(channel)]
        own = [channels[place] for place in self._compared]
        self._keys: list[Key] = [(each.subsystem, each.device, each.metric) for each in own]
        self._usual = _Usual(np.zeros(len(own)), np.zeros(len(own)))

    def compare(self, ends: NDArray[np.int64], levels: Levels) -> Comparison:
        """levels: [windows, channels], NaN is absent. Each window is judged by the newest one that enough hosts have."""
        found = nothing(levels.shape)
        if self._group is None or not self._keys:
            return found
        for row, end_ns in enumerate(ends.tolist()):
            self._fleet.note(self._group, self._host, end_ns, self._named(levels[row]))
            common = self._fleet.newest_common(self._group, self._host, end_ns)
            if common is not None:
                self._judge(found, row, common)
        return found

    def _named(self, levels: Levels) -> dict[Key, float]:
        values = levels[self._compared].tolist()
        return {key: value for key, value in zip(self._keys, values, strict=True) if np.isfinite(value)}

    def _judge(self, found: Comparison, row: int, end_ns: int) -> None:
        """One row of `found`."""
        hosts = self._fleet.levels(self._group or "", end_ns)
        others = [one for host, one in hosts.items() if host != self._host][:_MOST]
        rows = [hosts[self._host], *others]
        table = np.array([[one.get(key, np.nan) for one in rows] for key in self._keys])
        apart = table - median(table)[:, np.newaxis]
        own = apart[:, 0] - self._usual.apart
        expected = median(table[:, 1:])
        least = smallest_effects([self._channels[place] for place in self._compared], np.nan_to_num(expected))
        allowed = np.maximum(least, SPREADS * self._usual.spread)
        now = SPREADS * median(np.abs(apart))
        count = np.isfinite(table).sum(axis=1)
        far = np.nan_to_num(np.abs(own)) > np.fmax(allowed, now)
        like = (np.abs(np.nan_to_num(apart)) > allowed[:, np.newaxis]).sum(axis=1)
        few = like <= np.maximum(1, MINORITY * count)
        known = self._usual.windows >= _LEARNT
        odd = far & few & (count >= FEWEST) & known
        found.odd[row, self._compared] = odd
        found.expected[row, self._compared] = expected
        found.others[row, self._compared] = count - 1
        self._usual.learn(apart[:, 0], odd, self._pace)


def _alike(channel: Channel) -> bool:
    """Whether hosts of one job are expected to agree in it: as a whole, and in each GPU; not in how much memory is in use."""
    named = channel.device == WHOLE_HOST or channel.subsystem == "gpu"
    return named and bool(channel.unit) and channel.unit != "B" and channel.kind != "event"
