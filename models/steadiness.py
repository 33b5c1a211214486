"""Whether what is unlike training is a new regime: steady, far from usual, and nothing that harms or runs out."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hostsight.channel import Channel
from hostsight.timerange import TimeRange
from models.baseline import Baseline
from models.frames import align
from models.protocol import Floats, WindowBlock
from models.scaling import MEAN, STEPS_PER_EFFECT

_SLICES = 5
_LONGEST_NS = 30 * 10**9
_WINDOWS = 3
_MOVED = 0.25
"""A level is steady that moves by less than this part of its distance to what was usual."""
_STEADY = 0.8
"""The part of all distance that steady channels must account for."""
_HARM = re.compile(
    "error|fail|drop|lost|retransmit|overrun|throttl|out_of_memory|machine_check|correct|swap|stalls|direct_reclaim|reclaim_|"
    "overflow|timeout|abort|missed|missing|discarded|[rt]x_discards|link_downs|collision|remapped|violation"
)
"""More of this is never how a host should be. Stalled cycles and memory that could be reclaimed are part of any job's work."""
_PRESENCE = re.compile("^device_present$")


def slices(opened_ns: int, end_ns: int, stride_ns: int) -> list[TimeRange]:
    """Parts of an episode's newer half, evenly spread: whatever has been growing since it began has grown there, too.

    stride_ns: the time between two windows' ends; a part holds some of them, where the half is so long.
    """
    half_ns = (end_ns - opened_ns) // 2
    length_ns = min(half_ns // _SLICES, max(_LONGEST_NS, _WINDOWS * stride_ns))
    starts = np.linspace(end_ns - half_ns, end_ns - length_ns, _SLICES).astype(np.int64).tolist()
    return [TimeRange(start, start + length_ns) for start in starts]


def is_new_regime(baseline: Baseline, parts: Sequence[WindowBlock]) -> bool:
    """parts: the shortest windows of each of `slices`."""
    if not all(len(part.ends) for part in parts):
        return False
    blocks = [align(part, baseline.ids)[:, :, : MEAN + 1] for part in parts]
    usual = baseline.regimes.usual(np.concatenate(blocks))
    levels = np.array([_level(block[:, :, MEAN]) for block in blocks])
    steps = (levels - usual.centre[:, MEAN]) / usual.step[:, MEAN]
    known = np.isfinite(steps).all(axis=0)
    away = np.where(known, steps, 0.0).mean(axis=0)
    far = np.flatnonzero(np.abs(away) >= STEPS_PER_EFFECT)
    if not len(far) or any(harms(baseline.channels[place], float(away[place])) for place in far):
        return False
    distance = np.abs(away[far])
    steady = np.ptp(steps[:, far], axis=0) <= _MOVED * distance
    weight = np.log1p(distance)
    return bool(weight[steady].sum() >= _STEADY * weight.sum())


def _level(means: NDArray[np.float32]) -> Floats:
    """[channels]: over the windows that have a value (of the slow tier, three in ten); NaN where none has."""
    there = np.isfinite(means)
    total = np.where(there, means, 0.0).sum(axis=0, dtype=np.float64)
    count = there.sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def harms(channel: Channel, away: float) -> bool:
    """Whether it harms that the channel's level is so many steps away from usual."""
    if _PRESENCE.search(channel.metric):
        return True
    return away > 0 and _HARM.search(channel.metric) is not None
