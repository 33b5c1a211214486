"""A baseline from one recording, and another recording judged by it, in the way of live telemetry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hostsight.channel import Channel
from hostsight.clock import SECOND_NS
from hostsight.errors import UsageError
from hostsight.settings import DetectSettings, Duration, WindowSettings
from hostsight.timerange import TimeRange, format_duration
from ingest.naming import Naming
from ingest.recording import Recording, RecordingStore
from jobs.windows import WindowStream
from models.baseline import FEWEST_WINDOWS, Baseline, fit_baseline
from models.budget import persistence
from models.episode_state import EpisodeChange
from models.episodes import EpisodeTracker
from models.frames import block_from_features, concatenate
from models.history import History
from models.layout import layout_for
from models.protocol import Floats, WindowBlock
from models.scored import Scored
from models.signal_watch import SignalWatch

TIME = "ts"
"""What the time is called in the results."""
_UNLIKE = 1.5
"""Sampling periods further apart than this factor make two recordings incomparable."""
_CHUNK_VALUES = 2_000_000
"""About so many values go through SQL at once."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """What became of each row of a test recording, in the recording's order.

    ts: [rows], nanoseconds; stamp: the type that the recording has them in.  score: [rows], what ranks them; rows before the first whole window have the training's median.
    contributions: [rows, names], how much each column sets the row apart, times the row's fused score.  scored: of the windows.
    ends: [rows], which window says what a row is.
    """

    baseline: Baseline
    scored: Scored
    ts: NDArray[np.int64]
    stamp: pa.DataType
    ends: NDArray[np.int64]
    score: Floats
    names: tuple[str, ...]
    contributions: Floats
    episodes: tuple[EpisodeChange, ...]

    def of_rows(self, values: Floats, otherwise: float = 0.0) -> Floats:
        """Values of the windows as values of the rows."""
        return _of_rows(self.ends, self.scored.ends, values, otherwise)

    def stamp_ns(self, end_ns: int) -> int:
        """The time of the first row that the window says something about."""
        rows = np.flatnonzero(self.ends >= end_ns)
        return int(self.ts[rows].min()) if len(rows) else end_ns


def window_for(period_ns: int, live: WindowSettings) -> WindowSettings:
    """Windows of one row where rows are at least a pane apart: longer ones are made of these. Otherwise as for live telemetry."""
    if period_ns < live.pane.ns:
        return live
    row = Duration(period_ns / SECOND_NS)
    return WindowSettings(pane=row, length=row, stride=row)


@dataclass(frozen=True, slots=True)
class Analyst:
    """How recordings are judged; window: of live telemetry."""

    detect: DetectSettings
    window: WindowSettings
    naming: Naming = field(default_factory=Naming)
    seed: int = 0

    def analyse(self, train: Recording, test: Recording) -> Analysis:
        """Fit on `train` alone; score every row of `test`, each by itself and what came before it.

        Raises UsageError where the two do not fit together, or there is too little to learn from.
        """
        frame = Frame.of(train, self.naming, _common(train, test), self.window)
        earlier, later = frame.apart(train.ts, test.ts)
        learnt, told = frame.block(train, earlier), frame.block(test, later)
        if len(learnt.ends) < FEWEST_WINDOWS:
            raise UsageError(
                f"{train.path} holds {len(learnt.ends)} windows, too few to learn from; give a recording of at least {FEWEST_WINDOWS}"
            )
        history = History(layout_for(frame.window, int(learnt.ends[-1] - learnt.ends[0])))
        channels = {channel.id: channel for channel in frame.channels}
        baseline = fit_baseline(history.widen(learnt), channels, self.detect, self.seed)
        if told.ends[0] <= learnt.ends[-1]:
            history = History(
                baseline.layout
            )  # it does not follow what was learnt, so nothing came before it
        history.settle = baseline.settle
        block = history.widen(told)
        scored, ends = baseline.score(block), frame.ends(later)
        ranking = baseline.calibration.ranking
        parts = _contributions(baseline, block, frame.channels) * np.exp(scored.rank)[:, np.newaxis]
        return Analysis(
            baseline=baseline,
            scored=scored,
            ts=test.ts,
            stamp=test.stamp,
            ends=ends,
            score=_of_rows(ends, scored.ends, ranking.with_recent_share(scored.rank), ranking.median),
            names=frame.names,
            contributions=_of_rows(ends, scored.ends, parts, 0.0),
            episodes=_episodes(baseline, block, scored, self.detect),
        )


def _common(train: Recording, test: Recording) -> tuple[str, ...]:
    """Names of the columns that both have."""
    names = tuple(name for name in train.names if name in set(test.names))
    if not names:
        raise UsageError(
            f"{train.path} and {test.path} have no column in common; name the columns of one as those of the other"
        )
    if TIME in names:
        raise UsageError(
            f"{train.path} and {test.path} have a metric named {TIME}, as the time is in the results; leave it out with --exclude {TIME}, or name it otherwise"
        )
    if not 1 / _UNLIKE < test.period_ns / train.period_ns < _UNLIKE:
        raise UsageError(
            f"{test.path} has a row every {format_duration(test.period_ns / SECOND_NS)}, {train.path} every {format_duration(train.period_ns / SECOND_NS)}; what was learnt from one says nothing about the other"
        )
    return names


@dataclass(frozen=True, slots=True)
class Frame:
    """How recordings become windows. period_ns: so far apart are rows at least, once `apart` has moved them by shift_ns or more."""

    naming: Naming
    names: tuple[str, ...]
    window: WindowSettings
    period_ns: int
    shift_ns: int

    @classmethod
    def of(cls, recording: Recording, naming: Naming, names: tuple[str, ...], live: WindowSettings) -> Frame:
        window = window_for(recording.period_ns, live)
        period_ns = min(recording.period_ns, window.pane.ns)
        shift_ns = (period_ns // 2 - int(np.median(recording.ts % period_ns))) % period_ns
        return cls(naming, names, window, period_ns, shift_ns)

    @property
    def channels(self) -> tuple[Channel, ...]:
        """One a name, in the same order."""
        return self.naming.channels(self.names, self.period_ns / SECOND_NS)

    def apart(
        self, train: NDArray[np.int64], test: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Stamps for the rows of both, so that no two times are within one sampling period."""
        if test.min() <= train.max():
            return self._apart(train), self._apart(test)
        both = self._apart(np.concatenate([train, test]))
        return both[: len(train)], both[len(train) :]

    def _apart(self, ts: NDArray[np.int64]) -> NDArray[np.int64]:
        """In the middle of the sampling period that each falls into, or else of the next that no earlier row has."""
        times, row = np.unique(ts + self.shift_ns, return_inverse=True)
        before = np.arange(len(times))
        periods = np.maximum.accumulate(times // self.period_ns - before) + before
        return np.asarray(periods * self.period_ns + self.period_ns // 2)[row]

    def block(self, recording: Recording, ts: NDArray[np.int64]) -> WindowBlock:
        """All windows of the recording with these stamps, through the same SQL as live telemetry; raises UsageError where it has none."""
        store = RecordingStore(replace(recording.only(self.names), ts=ts), self.channels)
        span = store.span(self.naming.host)
        grid_ns = self.window.stride.ns
        rows = max(1, _CHUNK_VALUES // len(self.names))
        chunk_ns = max(1, rows * self.period_ns // grid_ns) * grid_ns
        first_ns = span.start_ns - span.start_ns % grid_ns
        end_ns = -(-span.end_ns // grid_ns) * grid_ns
        stream = WindowStream(self.naming.host, store, self.window)
        starts = range(first_ns, end_ns, chunk_ns)
        spans = (TimeRange(start, min(start + chunk_ns, end_ns)) for start in starts)
        found = concatenate([block_from_features(stream.advance(span).features) for span in spans])
        stream.close()
        if not len(found.ends):
            raise UsageError(
                f"{recording.path} holds no finite value in the columns that both have; another recording is needed"
            )
        return found

    def ends(self, ts: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each row, by the stamps that `apart` gives, the end of the newest window that holds nothing after it."""
        reached = ts - ts % self.period_ns + self.period_ns
        return np.asarray(reached - reached % self.window.stride.ns)


def _of_rows(ends: NDArray[np.int64], windows: NDArray[np.int64], values: Floats, otherwise: float) -> Floats:
    """The values of the windows that end at `ends`, a row each."""
    places = np.minimum(np.searchsorted(windows, ends), len(windows) - 1)
    found = values[places]
    found[windows[places] != ends] = otherwise
    return found


def _contributions(baseline: Baseline, block: WindowBlock, channels: Sequence[Channel]) -> Floats:
    """[windows, channels], in the order of `channels`; one without a value in training sets nothing apart."""
    places = {channel: place for place, channel in enumerate(channels)}
    found = np.zeros((len(block.ends), len(channels)))
    found[:, [places[channel] for channel in baseline.channels]] = baseline.contributions(block)
    return found


def _episodes(
    baseline: Baseline, block: WindowBlock, scored: Scored, detect: DetectSettings
) -> tuple[EpisodeChange, ...]:
    """Each as it was left at the end."""
    stride_ns = block.layout.window.stride.ns
    tracker = EpisodeTracker(baseline.channels[0].host, persistence(detect, stride_ns), stride_ns)
    told = SignalWatch(baseline).look(block, scored)
    changes = tracker.update(
        told.scored,
        lambda rows: told.explain(rows, lambda seen: baseline.attribute(block, seen)),
        "analysis",
        unmeasured=told.unmeasured,
    )
    return tuple({change.opened_ns: change for change in changes}.values())
