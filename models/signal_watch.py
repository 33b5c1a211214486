"""Windows that are anomalous without any detector: a device is unlike its peers, a channel has stopped.

Such windows open, keep open and join episodes as all others do: one cause on one host is one episode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from hostsight.channel import Channel
from hostsight.clock import SECOND_NS
from hostsight.quantity import quantity
from models.attribution import Attribution, blend, most
from models.baseline import Baseline
from models.frames import align, select_rows
from models.measured import Measured
from models.peers import Comparison
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
    odd: Comparison

    def explain(self, rows: Sequence[int], detectors: Explain) -> tuple[Attribution, ...]:
        """What sets these windows apart; detectors: as they see it. Where both say something, each has half of it."""
        found = self._signalled(np.asarray(rows, np.intp))
        seen = [row for row in rows if self.detected[row]]
        if not found:
            return detectors(rows)
        return blend(detectors(seen), 1.0, found, 1.0) if seen else found

    def _signalled(self, rows: NDArray[np.intp]) -> tuple[Attribution, ...]:
        stopped, odd = self.stops.stopped[rows].sum(axis=0), self.odd.odd[rows].sum(axis=0)
        return most(
            [
                *(
                    self._stopped(index, rows, int(stopped[index]))
                    for index in np.flatnonzero(stopped).tolist()
                ),
                *(self._unlike(index, rows, int(odd[index])) for index in np.flatnonzero(odd).tolist()),
            ]
        )

    def _stopped(self, index: int, rows: NDArray[np.intp], windows: int) -> Attribution:
        last = rows[self.stops.stopped[rows, index]][-1]
        since = datetime.fromtimestamp(int(self.stops.since_ns[last, index]) // SECOND_NS, UTC)
        channel = self.channels[index]
        name = "" if self.stops.vanished[last, index] else f": {metric(channel.metric)}"
        return _attribution(
            channel,
            share=float(windows),
            expected=float(self.expected[index]),
            words=f"{channel.subsystem} {channel.device}{name} stopped reporting at {since:%H:%M:%S} UTC",
        )

    def _unlike(self, index: int, rows: NDArray[np.intp], windows: int) -> Attribution:
        own = rows[self.odd.odd[rows, index]]
        channel, others = self.channels[index], int(self.odd.others[own[-1], index])
        actual = float(self.levels[own, index].mean(dtype=np.float64))
        expected = float(self.odd.expected[own, index].mean())
        is_, at = quantity(actual, channel.unit), quantity(expected, channel.unit)
        return _attribution(
            channel,
            share=float(windows),
            expected=expected,
            actual=actual,
            deviation=STEPS_PER_EFFECT if actual > expected else -STEPS_PER_EFFECT,
            words=f"{channel.subsystem} {channel.device}: {metric(channel.metric)} is {is_}, its {others} peers are at {at}",
        )


def _attribution(  # noqa: PLR0913  # facts by name
    channel: Channel,
    *,
    share: float,
    expected: float,
    words: str,
    actual: float | None = None,
    deviation: float = -STEPS_PER_EFFECT,
) -> Attribution:
    return Attribution(
        channel_id=channel.id,
        subsystem=channel.subsystem,
        device=channel.device,
        metric=channel.metric,
        share=share,
        expected=expected,
        actual=actual,
        unit=channel.unit,
        direction="high" if deviation > 0 else "low",
        deviation=deviation,
        words=words,
    )


class SignalWatch:
    """Looks at windows that follow each other, and at what the baseline says of them."""

    def __init__(self, baseline: Baseline) -> None:
        self._baseline = baseline
        self._expected = baseline.scaler.centre[:, MEAN]
        self._stops = StopWatch(baseline.channels, baseline.signals.gaps)
        self._measured = Measured(len(baseline.channels))

    def note(self, block: WindowBlock) -> None:
        """Windows that were judged before: only what they say of the next ones counts."""
        self._stops.look(block.ends, self._levels(block))

    def look(self, block: WindowBlock, scored: Scored) -> Told:
        levels = self._levels(block)
        stops, odd = self._stops.look(block.ends, levels), self._baseline.signals.peers.compare(levels)
        anomalous = scored.anomalous | stops.stopped.any(axis=1) | odd.odd.any(axis=1)
        silent = self._measured.silent(np.isfinite(levels), self._deciding(block, scored.anomalous) | odd.odd)
        return Told(
            scored=replace(scored, anomalous=anomalous),
            unmeasured=frozenset(block.ends[silent & ~anomalous].tolist()),
            detected=scored.anomalous,
            channels=self._baseline.channels,
            expected=self._expected,
            levels=levels,
            stops=stops,
            odd=odd,
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
