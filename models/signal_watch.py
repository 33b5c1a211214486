"""Windows that are anomalous without any detector: a device is unlike its peers, a channel has stopped.

Such windows open, keep open and join episodes as all others do: one cause on one host is one episode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from hostsight.channel import WHOLE_HOST, Channel
from hostsight.clock import SECOND_NS
from hostsight.quantity import quantity
from models.attribution import Attribution, blend, most
from models.baseline import Baseline
from models.fleet import FleetWatch
from models.frames import align, select_rows
from models.measured import Measured
from models.peers import Comparison, nothing
from models.protocol import Floats, WindowBlock
from models.scaling import MEAN, STEPS_PER_EFFECT
from models.scored import Scored
from models.structure import Stops, StopWatch
from models.wording import metric

Explain = Callable[[Sequence[int]], tuple[Attribution, ...]]

_MOST = 0.5
"""Channels with so much of the strongest one's part in a window set it apart."""


@dataclass(frozen=True, slots=True)
class Told:
    """scored: with the windows that signals make anomalous.  detected: which ones the detectors called anomalous.

    unmeasured: ends of the windows that say nothing of what was anomalous before them.
    """

    scored: Scored
    unmeasured: frozenset[int]
    detected: NDArray[np.bool_]
    channels: Sequence[Channel]
    expected: Floats
    levels: NDArray[np.float32]
    stops: Stops
    devices: Comparison
    hosts: Comparison

    def explain(self, rows: Sequence[int], detectors: Explain) -> tuple[Attribution, ...]:
        """What sets these windows apart; detectors: as they see it. Where both say something, each has half of it."""
        found = self._signalled(np.asarray(rows, np.intp))
        seen = [row for row in rows if self.detected[row]]
        if not found:
            return detectors(rows)
        return blend(detectors(seen), 1.0, found, 1.0) if seen else found

    def _signalled(self, rows: NDArray[np.intp]) -> tuple[Attribution, ...]:
        stopped = np.flatnonzero(self.stops.stopped[rows].any(axis=0))
        devices = np.flatnonzero(self.devices.odd[rows].any(axis=0))
        hosts = np.setdiff1d(np.flatnonzero(self.hosts.odd[rows].any(axis=0)), devices)
        return most(
            [
                *(self._stopped(index, rows) for index in stopped.tolist()),
                *(self._unlike(index, rows, self.devices, "peers") for index in devices.tolist()),
                *(self._unlike(index, rows, self.hosts, "peer hosts") for index in hosts.tolist()),
            ]
        )

    def _stopped(self, index: int, rows: NDArray[np.intp]) -> Attribution:
        own = rows[self.stops.stopped[rows, index]]
        last = own[-1]
        since = datetime.fromtimestamp(int(self.stops.since_ns[last, index]) // SECOND_NS, UTC)
        channel = self.channels[index]
        name = "" if self.stops.vanished[last, index] else f": {metric(channel.metric)}"
        return Attribution.of(
            channel,
            share=float(len(own)),
            expected=float(self.expected[index]),
            actual=None,
            deviation=-STEPS_PER_EFFECT,
            words=f"{channel.subsystem} {channel.device}{name} stopped reporting at {since:%H:%M:%S} UTC",
        )

    def _unlike(self, index: int, rows: NDArray[np.intp], by: Comparison, whom: str) -> Attribution:
        own = rows[by.odd[rows, index]]
        channel, others = self.channels[index], int(by.others[own[-1], index])
        actual = float(self.levels[own, index].mean(dtype=np.float64))
        expected = float(by.expected[own, index].mean())
        is_, at = quantity(actual, channel.unit), quantity(expected, channel.unit)
        device = "" if channel.device == WHOLE_HOST else f" {channel.device}"
        return Attribution.of(
            channel,
            share=float(len(own)),
            expected=expected,
            actual=actual,
            deviation=STEPS_PER_EFFECT if actual > expected else -STEPS_PER_EFFECT,
            words=f"{channel.subsystem}{device}: {metric(channel.metric)} is {is_}, its {others} {whom} are at {at}",
        )


class SignalWatch:
    """Looks at windows that follow each other, and at what the baseline says of them.

    fleet: compares this host with others; None where there are none, or they are not known.
    """

    def __init__(self, baseline: Baseline, fleet: FleetWatch | None = None) -> None:
        self._baseline = baseline
        self._expected = baseline.scaler.centre[:, MEAN]
        self._stops = StopWatch(baseline.channels, baseline.signals.gaps)
        self._measured = Measured(len(baseline.channels))
        self._fleet = fleet

    def note(self, block: WindowBlock) -> None:
        """Windows that were judged before: only what they say of the next ones counts."""
        self._stops.look(block.ends, self._levels(block))

    def look(self, block: WindowBlock, scored: Scored) -> Told:
        levels = self._levels(block)
        stops, devices = self._stops.look(block.ends, levels), self._baseline.signals.peers.compare(levels)
        hosts = self._fleet.compare(block.ends, levels) if self._fleet else nothing(levels.shape)
        odd = devices.odd | hosts.odd
        anomalous = scored.anomalous | (stops.stopped | odd).any(axis=1)
        silent = self._measured.silent(np.isfinite(levels), self._deciding(block, scored.anomalous) | odd)
        return Told(
            scored=replace(scored, anomalous=anomalous),
            unmeasured=frozenset(block.ends[silent & ~anomalous].tolist()),
            detected=scored.anomalous,
            channels=self._baseline.channels,
            expected=self._expected,
            levels=levels,
            stops=stops,
            devices=devices,
            hosts=hosts,
        )

    def _deciding(self, block: WindowBlock, anomalous: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """[windows, channels]: those that set an anomalous window apart the most."""
        found = np.zeros((len(block.ends), len(self._baseline.channels)), np.bool_)
        rows = np.flatnonzero(anomalous)
        if len(rows):
            parts = self._baseline.contributions(select_rows(block, rows))
            found[rows] = parts >= _MOST * parts.max(axis=1, keepdims=True)
        return found

    def _levels(self, block: WindowBlock) -> NDArray[np.float32]:
        return align(block, self._baseline.ids)[:, :, MEAN]
