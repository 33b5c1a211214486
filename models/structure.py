"""Channels that had values all through training, and stop while their host and their collector go on.

What stops together with all channels of its source is the collector's trouble, or a host that starts: a matter of data quality.
A device that is hot-plugged at will (a container's interface, a group of processes) and a ratio of what may not happen come
and go; only hardware is missed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hostsight.channel import Channel
from models.frames import align
from models.protocol import Floats, WindowBlock
from models.scaling import MEAN

Flags = NDArray[np.bool_]
Counts = NDArray[np.int64]

_HARDWARE = re.compile(
    r"cpu\d+|gpu.*|nvme\d.*|[shv]d[a-z]+|mmcblk\d+|eth\d+|en[opsx]\w+|ib\w+|mlx\d.*|hfi.*|node\d+|mc\d.*|[\da-f]{4}:[\da-f]{2}:.*",
    re.IGNORECASE,
)
_LONGEST_GAP = 60
_SHARE_OF_TRAINING = 0.25
"""A channel that lacked values in so many windows in a row has never had them all through."""
_LEAST_PATIENCE = 10
_PATIENCE = 4
"""Windows without a value until a channel has stopped, at least, and in its longest gaps of training."""
_PRESENT = "device_present"
_DERIVED = "derived"
NEVER = -1


class Gaps:
    """For how many windows in a row each channel lacked values, over blocks that follow each other."""

    def __init__(self) -> None:
        self._windows = 0
        self._ids: Counts = np.empty(0, np.int64)
        self._late, self._absent, self._longest = (np.empty(0, np.int64) for _ in range(3))
        self._started: Flags = np.empty(0, np.bool_)

    @classmethod
    def of(cls, block: WindowBlock) -> Gaps:
        gaps = cls()
        gaps.note(block)
        return gaps

    def note(self, block: WindowBlock) -> None:
        if not len(block.ends):
            return
        self._know(block.channels)
        present = np.isfinite(align(block, self._ids)[:, :, MEAN])
        absent = absences(present, self._absent)
        started = self._started | np.logical_or.accumulate(present, axis=0)
        self._late += (~started).sum(axis=0)
        self._longest = np.maximum(self._longest, np.where(started, absent, 0).max(axis=0))
        self._absent, self._started = absent[-1], started[-1]
        self._windows += len(block.ends)

    def _know(self, channels: Counts) -> None:
        ids = np.union1d(self._ids, channels)
        places = np.searchsorted(ids, self._ids)
        for name, empty in (("_late", self._windows), ("_absent", 0), ("_longest", 0), ("_started", False)):
            before = getattr(self, name)
            after = np.full(len(ids), empty, before.dtype)
            after[places] = before
            setattr(self, name, after)
        self._ids = ids

    def of_channels(self, ids: Counts) -> Counts:
        """[channels], ids ascending: the longest gap in windows, NEVER where a channel had no values all through."""
        limit = min(_LONGEST_GAP, int(_SHARE_OF_TRAINING * self._windows))
        whole = self._started & (self._late <= limit) & (self._longest <= limit)
        found = np.full(len(ids), NEVER, np.int64)
        _, mine, theirs = np.intersect1d(ids, self._ids, assume_unique=True, return_indices=True)
        found[mine] = np.where(whole, self._longest, NEVER)[theirs]
        return found


def absences(present: Flags, before: Counts) -> Counts:
    """[windows, channels]: for how many windows in a row, up to each, there was no value; `before`: up to the first."""
    rows = np.arange(1, len(present) + 1)[:, np.newaxis]
    last = np.maximum.accumulate(np.where(present, rows, 0), axis=0)
    return np.asarray(np.where(last > 0, rows - last, rows + before))


@dataclass(frozen=True, slots=True)
class Stops:
    """[windows, channels]: channels that have stopped, since the end of which window, and whether their whole device has."""

    stopped: Flags
    since_ns: Counts
    vanished: Flags


@dataclass(slots=True)
class StopWatch:
    """Looks at windows that follow each other. gaps: [channels], of training.

    What it has not seen yet counts as there: a channel must be absent for its patience before it has stopped.
    """

    channels: Sequence[Channel]
    gaps: Counts
    _absent: Counts = field(init=False)
    _seen_ns: Counts = field(init=False)
    _level: Floats = field(init=False)
    _patience: Counts = field(init=False)
    _watched: Flags = field(init=False)
    _sources: Counts = field(init=False)
    _devices: Counts = field(init=False)
    _presence: Flags = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.channels)
        self._absent, self._seen_ns = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self._level = np.full(count, np.nan)
        self._patience = np.maximum(_LEAST_PATIENCE, _PATIENCE * self.gaps)
        regular = self.gaps != NEVER
        self._watched = regular & np.array([_lasting(channel) for channel in self.channels], bool)
        self._sources = _numbered([channel.source.replace(channel.device, "*") for channel in self.channels])
        self._devices = _numbered([f"{each.subsystem} {each.device}" for each in self.channels])
        self._presence = np.array([channel.metric == _PRESENT for channel in self.channels], bool)

    def look(self, ends: Counts, levels: NDArray[np.float32]) -> Stops:
        """levels: [windows, channels], NaN is absent."""
        present = np.isfinite(levels)
        absent = absences(present, self._absent)
        since_ns = self._since(ends, absent)
        over = absent >= self._patience
        alive = (self.gaps != NEVER) & ~over
        goes_on = _any_of(alive, self._sources) | _any_of(self._missing(levels), self._devices)
        stopped = self._watched & over & goes_on & self._most_are_there(over)[:, np.newaxis]
        vanished = stopped & ~_any_of(alive & ~self._presence, self._devices)
        if len(ends):
            self._absent, self._seen_ns = absent[-1], since_ns[-1]
        return Stops(stopped, since_ns, vanished)

    def _since(self, ends: Counts, absent: Counts) -> Counts:
        """When each channel last had a value; where none is known yet, when this began to look."""
        if len(ends) and not self._seen_ns.any():
            self._seen_ns[:] = ends[0]
        rows = np.arange(len(ends))[:, np.newaxis] - absent
        return np.asarray(np.where(rows >= 0, ends[np.maximum(rows, 0)] if len(ends) else 0, self._seen_ns))

    def _missing(self, levels: NDArray[np.float32]) -> Flags:
        """Where `device_present` says that a device is missing, until it says otherwise."""
        flags = np.zeros(levels.shape, np.bool_)
        for place in np.flatnonzero(self._presence).tolist():
            held = np.concatenate([self._level[place : place + 1], levels[:, place]])
            last = np.maximum.accumulate(np.where(np.isfinite(held), np.arange(len(held)), 0))
            flags[:, place] = held[last][1:] < 1
            self._level[place] = held[last[-1]]
        return flags

    def _most_are_there(self, over: Flags) -> Flags:
        """[windows]: whether a host goes on, and has not just started."""
        regular = self.gaps != NEVER
        return np.asarray(2 * over[:, regular].sum(axis=1) <= regular.sum())


def _lasting(channel: Channel) -> bool:
    """Whether a channel is of hardware, and has a value whatever happens."""
    return (
        channel.source != _DERIVED
        and channel.kind != "event"
        and _HARDWARE.fullmatch(channel.device) is not None
    )


def _numbered(names: Sequence[str]) -> Counts:
    return np.asarray(np.unique(np.array(names, np.str_), return_inverse=True)[1], np.int64)


def _any_of(flags: Flags, groups: Counts) -> Flags:
    """[windows, channels]: whether any channel of each one's group has the flag."""
    if not flags.any():
        return flags
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    return np.asarray(np.logical_or.reduceat(flags[:, order], starts, axis=1)[:, groups])
