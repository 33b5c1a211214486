"""Raw values of one collector turned into what is stored: counters into units per second, gauges scaled.

Arithmetic is float64: counters are exact up to 2**53 (9 PB in bytes, 104 days in nanoseconds). Beyond that each reading
is rounded to a multiple of 2, from 2**54 on of 4, and so on up to 1024 just below 2**63; a value is stored as float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hostsight.channel import WHOLE_HOST
from ingest.collector import Slot, Values

FEW_UNITS = 16.0
"""A step back of at most so many units is jitter (the kernel's per-CPU idle and iowait do this): the rate is 0 until
the counter is past its old height again."""

SMALL_SHARE = 0.01
"""A step back of at most this share of the counter is a correction (a device left a sum): the rate is 0 once. A larger
one is a reset or a wrap: the value is absent once, and counting starts anew. So is one by half of the size at which a
metric's counters wrap: of a sum over many CPUs that may be a small share."""

_NEVER = -1


class Rates:
    """Turns successive readings of the same slots into values.

    A counter's first reading gives no value (NaN); nor does one after an absent reading, a reset or a wrap.
    """

    __slots__ = ("_counters", "_gauge_scale", "_last", "_last_ns", "_most_back", "_rate_scale", "slots")

    def __init__(self, slots: Sequence[Slot]) -> None:
        self.slots = tuple(slots)
        scale = np.array([slot.metric.scale for slot in slots], dtype=np.float64)
        counter = np.array([slot.metric.kind == "rate" for slot in slots], dtype=np.bool_)
        self._counters = np.flatnonzero(counter)
        self._gauge_scale = np.where(counter, 0.0, scale)
        self._rate_scale = scale[counter]
        wraps = [slot.metric.wrap for slot in self.slots if slot.metric.kind == "rate"]
        self._most_back = np.array([2.0 ** (bits - 1) if bits else np.inf for bits in wraps])
        self._last = np.full(len(self._counters), np.nan)
        self._last_ns = _NEVER

    def values(self, raw: Values, read_ns: int) -> Values:
        """Values of one reading, float64[slots], NaN where absent. `read_ns` is when it was read, monotonic.

        Call it with numpy's warnings about invalid operations off: a reading may be infinite.
        """
        counters = self._counters
        if len(counters) == len(raw):
            return self._per_second(raw.copy(), read_ns)
        out: Values = raw * self._gauge_scale
        if len(counters):
            out[counters] = self._per_second(raw[counters], read_ns)
        return out

    def rows(self, raw: Values, read_ns: Sequence[int]) -> Values:
        """Values of successive readings at once, as `values` gives them one by one; both float64[readings, slots]."""
        counters = self._counters
        if not len(counters) or not len(raw):
            return raw * self._gauge_scale
        counts = raw if len(counters) == raw.shape[1] else raw[:, counters]
        seconds = [(now - before) / 1e9 for before, now in pairwise([self._last_ns, *read_ns])]
        grown = np.empty_like(counts)
        np.subtract(counts[0], self._last, out=grown[0])
        np.subtract(counts[1:], counts[:-1], out=grown[1:])
        if min(seconds) <= 0 or np.count_nonzero(grown < 0):
            steps = zip(counts, read_ns, strict=True)
            grown[:] = [self._per_second(now.copy(), at_ns) for now, at_ns in steps]
        else:
            grown *= self._rate_scale
            grown /= np.array(seconds)[:, None]
            self._last, self._last_ns = counts[-1].copy(), read_ns[-1]
        if counts is raw:
            return grown
        out: Values = raw * self._gauge_scale
        out[:, counters] = grown
        return out

    def restart(self) -> None:
        """Forget the last reading: the next one starts anew."""
        self._last.fill(np.nan)
        self._last_ns = _NEVER

    def relisted(self, slots: Sequence[Slot]) -> Rates:
        """Rates for a changed list of slots. Counters of single devices go on; sums start anew.

        A sum over a host or a NUMA node may have gained or lost a member with all that it ever counted.
        """
        new = Rates(slots)
        known = {self.slots[index]: self._last[place] for place, index in enumerate(self._counters)}
        kept = [new.slots[index] for index in new._counters]
        new._last[:] = [np.nan if _is_sum(slot) else known.get(slot, np.nan) for slot in kept]
        new._last_ns = self._last_ns
        return new

    def _per_second(self, now: Values, read_ns: int) -> Values:
        seconds = (read_ns - self._last_ns) / 1e9
        grown: Values = now - self._last
        back = grown < 0
        if np.count_nonzero(back):
            now = self._step_back(grown, now, back)
        self._last, self._last_ns = now, read_ns
        if seconds <= 0:
            return np.full(len(now), np.nan)
        grown *= self._rate_scale
        grown /= seconds
        return grown

    def _step_back(self, grown: Values, now: Values, back: NDArray[np.bool_]) -> Values:
        """Mend `grown` where a counter stepped back; where counting goes on from."""
        jitter = back & (grown >= -FEW_UNITS)
        reset = back & ~jitter & (-grown > np.minimum(SMALL_SHARE * self._last, self._most_back))
        grown[back] = 0.0
        grown[reset] = np.nan
        return np.where(jitter, self._last, now)


def _is_sum(slot: Slot) -> bool:
    return slot.device == WHOLE_HOST or slot.device.startswith("node")
