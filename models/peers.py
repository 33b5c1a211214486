"""Devices of one kind compared with each other: of eight GPUs that share a job, the one that does not do as the others do.

What all do at once is a job, and raises nothing here. Only devices that a job loads alike are compared: GPUs, and NVMe disks by
their temperature. CPUs, disks and interfaces may differ as they like.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hostsight.channel import Channel
from models.effects import smallest_effects
from models.protocol import Floats

Flags = NDArray[np.bool_]

FEWEST = 3
_OFTEN = 99.0
_FURTHER = 1.5
"""A device deviates beyond so many times what it usually (in 99 of 100 windows) differs from its peers by."""
SPREADS = 6.0
"""And beyond so many times the median of what they differ by now: under a load that training did not see they may differ more."""
MINORITY = 0.25
"""Where more of them deviate at once, they are not doing the same."""
_LOAD = re.compile(r"(gpu_)?(utili[sz]ation|busy)_percent")
_AT_WORK = 20.0
"""Percent. GPUs are compared while most of them work: while they rest, one that works is no odd one."""
_NONE = -1


@dataclass(frozen=True, slots=True)
class Peers:
    """group: [channels], which channels are compared with each other, -1: none.  load: [channels], the group that says whether they
    work, -1: not known.  usual: [channels], how far each is from its group's median.  allowed: how much further is no deviation.
    """

    group: NDArray[np.int64]
    load: NDArray[np.int64]
    usual: Floats
    allowed: Floats

    @classmethod
    def fit(cls, levels: NDArray[np.float32], channels: Sequence[Channel]) -> Self:
        """levels: [windows, channels]; NaN is absent."""
        group, load = _grouped(channels)
        usual, allowed = np.zeros(len(channels)), np.zeros(len(channels))
        for number in range(int(group.max(initial=_NONE)) + 1):
            members = np.flatnonzero(group == number)
            own = levels[:, members].astype(np.float64)
            apart = own - median(own)[:, np.newaxis]
            usual[members] = np.nan_to_num(median(apart.T))
            further = np.abs(apart - usual[members])
            often = np.array([_percentile(column) for column in further.T])
            centre = np.nan_to_num(median(own.T))
            least = smallest_effects([channels[member] for member in members.tolist()], centre)
            allowed[members] = np.maximum(_FURTHER * often, least)
        return cls(group, load, usual, allowed)

    def compare(self, levels: NDArray[np.float32]) -> Comparison:
        """levels: [windows, channels]; a window's comparison depends on that window alone."""
        found = nothing(levels.shape)
        for number in range(int(self.group.max(initial=_NONE)) + 1):
            members = np.flatnonzero(self.group == number)
            own = levels[:, members].astype(np.float64)
            there = np.isfinite(own)
            apart = np.abs(own - median(own)[:, np.newaxis] - self.usual[members])
            now = SPREADS * median(np.where(there, apart, np.nan))[:, np.newaxis]
            far = there & (np.where(there, apart, 0.0) > np.fmax(self.allowed[members], now))
            enough = there.sum(axis=1) >= FEWEST
            few = far.sum(axis=1) <= np.maximum(1, MINORITY * len(members))
            found.odd[:, members] = far & (enough & few & self._work(levels, members[0]))[:, np.newaxis]
            found.others[:, members] = there.sum(axis=1)[:, np.newaxis] - 1
            found.expected[:, members] = _of_others(own)
        return found

    def _work(self, levels: NDArray[np.float32], member: int) -> Flags:
        if self.load[member] == _NONE:
            return np.ones(len(levels), np.bool_)
        loads = levels[:, self.group == self.load[member]].astype(np.float64)
        return np.asarray(np.nan_to_num(median(loads)) >= _AT_WORK)

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        return {"group": self.group, "load": self.load, "usual": self.usual, "allowed": self.allowed}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        group, load = (arrays[name].astype(np.int64) for name in ("group", "load"))
        return cls(group, load, *(arrays[name].astype(np.float64) for name in ("usual", "allowed")))


@dataclass(frozen=True, slots=True)
class Comparison:
    """[windows, channels]: which are unlike their peers, the median of their peers, and how many these are."""

    odd: Flags
    expected: Floats
    others: NDArray[np.int64]


def nothing(shape: tuple[int, ...]) -> Comparison:
    """Where there is nothing to compare with."""
    return Comparison(np.zeros(shape, np.bool_), np.full(shape, np.nan), np.zeros(shape, np.int64))


def _grouped(channels: Sequence[Channel]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(group, load) of `Peers`."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for place, channel in enumerate(channels):
        if _alike(channel):
            found.setdefault((channel.subsystem, channel.metric, channel.unit), []).append(place)
    groups = {key: places for key, places in found.items() if len(places) >= FEWEST}
    group, load = (np.full(len(channels), _NONE, np.int64) for _ in range(2))
    working = _NONE
    for number, (key, places) in enumerate(groups.items()):
        group[places] = number
        if key[0] == "gpu" and _LOAD.fullmatch(key[1]):
            working = number
    gpus = [place for place, channel in enumerate(channels) if channel.subsystem != "storage"]
    load[gpus] = working
    return group, load


def _alike(channel: Channel) -> bool:
    """Whether devices are expected to agree in it. How much a job keeps in each one's memory is the job's choice."""
    if not channel.unit or channel.unit == "B":
        return False
    if channel.subsystem == "gpu":
        return True
    if channel.subsystem == "interconnect":
        return channel.device.lower().startswith("gpu")
    return channel.subsystem == "storage" and channel.device.startswith("nvme") and channel.unit == "°C"


def median(rows: Floats) -> Floats:
    """[rows]: of what is there; NaN where nothing is."""
    ordered = np.sort(rows, axis=1)
    count = np.isfinite(rows).sum(axis=1)
    at = np.arange(len(rows))
    low, high = np.maximum(count - 1, 0) // 2, np.maximum(count // 2, 0)
    high = np.minimum(high, max(0, rows.shape[1] - 1))
    return np.asarray((ordered[at, low] + ordered[at, high]) / 2)


def _of_others(rows: Floats) -> Floats:
    """Like rows: for each column the median of the others."""
    return np.column_stack([median(np.delete(rows, column, axis=1)) for column in range(rows.shape[1])])


def _percentile(values: Floats) -> float:
    there = values[np.isfinite(values)]
    return float(np.percentile(there, _OFTEN)) if len(there) else 0.0
