"""Learning a host's baseline again from its lake: what to learn from, and whether the result is better than what is live."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hostsight.channel import Channel
from hostsight.clock import SECOND_NS
from hostsight.errors import HostsightError
from hostsight.settings import DetectSettings, WindowSettings
from hostsight.timerange import TimeRange
from models.baseline import FEWEST_WINDOWS, Baseline, fit_baseline, most_windows
from models.frames import block_from_features, concatenate, empty_block, select_rows
from models.layout import Layout, layout_for
from models.protocol import WindowBlock
from models.report import RefitReport, with_drift
from models.sampling import sampled
from models.store import ModelStore
from models.structure import Gaps

FeatureReader = Callable[[TimeRange], pa.Table]
"""The FEATURES whose windows end in a time range (start < end <= stop), in any order."""

_READ_NS = 3600 * SECOND_NS
"""As much as a file of the lake holds."""
_SPARE = 2
"""So many times the windows that are fitted are read: of the channels that are known some may be gone."""
_HELD_BACK = 0.1
_KEPT_MODELS = 30
"""So many models of a host can be rolled back to."""
_WORSE_BY = 0.01
"""A candidate may flag this much more of the held-back windows than the live model does: less is chance."""


@dataclass(frozen=True, slots=True)
class Refit:
    """What came of a refit. flagged: the share of the held-back windows that the new and the live model call anomalous."""

    model: str
    promoted: bool
    windows: int
    quarantined: int
    flagged: float
    live_flagged: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Training:
    """Healthy windows, thinned, out of all that end in `span`; quarantined: how many were left out; gaps: of all healthy ones."""

    block: WindowBlock
    span: TimeRange
    quarantined: int = 0
    gaps: Gaps | None = None


@dataclass(frozen=True, slots=True)
class Learner:
    """How a host's baseline is fitted; channels: by id, those that may be modelled.  adopted: when new regimes were found."""

    channels: Mapping[int, Channel]
    detect: DetectSettings
    window: WindowSettings
    seed: int = 0
    adopted: Sequence[TimeRange] = ()

    def most_windows(self, layout: Layout) -> int:
        """So many windows are worth reading."""
        channels = sum(channel.subsystem != "agent" for channel in self.channels.values())
        return min(self.detect.train_windows, _SPARE * most_windows(channels, layout, self.detect))

    def fit(self, block: WindowBlock, gaps: Gaps | None = None) -> Baseline:
        return fit_baseline(block, self.channels, self.detect, self.seed, gaps, adopted=self.adopted)


def read_training(
    read: FeatureReader, span: TimeRange, quarantine: Sequence[TimeRange], learner: Learner
) -> Training:
    """Windows of `span`, about as many as can be fitted, evenly spread, without those in `quarantine`.

    Reads an hour at a time, so memory is bounded by what is kept.
    """
    stride_ns = learner.window.stride.ns
    layout = layout_for(learner.window, span.end_ns - span.start_ns)
    every = max(1, (span.end_ns - span.start_ns) // stride_ns // learner.most_windows(layout))
    blocks, left_out, gaps, before = [], 0, Gaps(), empty_block()
    for part in _hours(span):
        short = block_from_features(read(part))
        healthy, kept = ~_inside(short, quarantine), (short.ends // stride_ns) % every == 0
        gaps.note(select_rows(short, healthy))
        left_out += int((kept & ~healthy).sum())
        known = concatenate([before, short])
        blocks.append(sampled(known, layout, short.ends[kept & healthy]))
        before = select_rows(known, known.ends > part.end_ns - layout.lead_ns)
    return Training(concatenate(blocks), span, left_out, gaps)


def _hours(span: TimeRange) -> Iterator[TimeRange]:
    for start in range(span.start_ns - span.start_ns % _READ_NS, span.end_ns, _READ_NS):
        yield TimeRange(max(start, span.start_ns), min(start + _READ_NS, span.end_ns))


def _inside(block: WindowBlock, spans: Sequence[TimeRange]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    inside = np.zeros(len(block.ends), np.bool_)
    for span in spans:
        inside |= (block.ends > span.start_ns) & (block.ends <= span.end_ns)
    return inside


def refit(store: ModelStore, host: str, training: Training, learner: Learner, reason: str) -> Refit:
    """Fit, compare with the live model, save; live if it is no worse, else kept as `rejected`.

    Raises ModelError where there is too little to learn from.
    """
    block, live = training.block, _usable_live(store, host)
    report = _compared(training, live, store.live(host), learner)
    promoted = report.live_flagged is None or report.flagged <= report.live_flagged + _WORSE_BY
    baseline = learner.fit(block, training.gaps)
    name = store.save(
        host,
        baseline,
        trained=training.span,
        reason=reason,
        state="live" if promoted else "rejected",
        report=report if live is None else with_drift(report, live, baseline),
    )
    store.forget(_KEPT_MODELS)
    return Refit(
        model=name,
        promoted=promoted,
        windows=len(block.ends),
        quarantined=training.quarantined,
        flagged=report.flagged,
        live_flagged=report.live_flagged,
        reason=reason,
    )


def _usable_live(store: ModelStore, host: str) -> Baseline | None:
    """A live model that cannot be read or used any more has nothing to be compared with."""
    name = store.live(host)
    if name is None:
        return None
    try:
        return store.load(name)
    except HostsightError:
        return None


def _compared(
    training: Training, live: Baseline | None, live_name: str | None, learner: Learner
) -> RefitReport:
    """What a model of the older nine tenths, and the live one, say of the newest tenth, where there is enough to say."""
    block = training.block
    cut = int(len(block.ends) * (1 - _HELD_BACK))
    if live is None or cut < FEWEST_WINDOWS:
        return RefitReport(quarantined=training.quarantined, compared_with=live_name if live else None)
    held = select_rows(block, slice(cut, None))
    candidate = learner.fit(select_rows(block, slice(0, cut)))
    return RefitReport(
        quarantined=training.quarantined,
        compared_with=live_name,
        held_back=len(held.ends),
        flagged=_flagged(candidate, held),
        live_flagged=_flagged(live, held),
    )


def _flagged(baseline: Baseline, block: WindowBlock) -> float:
    """The share of windows that it calls anomalous."""
    return float(baseline.score(baseline.settle(block)).anomalous.mean())
