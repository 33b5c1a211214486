"""What healthy windows of one host taught: regimes, kept channels, detectors and their calibration.

fit    windows -> Regimes -> steps -> kept channels' columns -> detectors; each calibrated on windows it was not fitted to
score  windows -> steps -> scores -> tail probabilities and the fused score -> anomalous, confidence
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hostsight.channel import Channel
from hostsight.errors import ModelError
from hostsight.settings import DetectSettings
from hostsight.timerange import TimeRange
from models.attribution import Attribution, contributions, most
from models.calibration import Tail, folds
from models.detector import Detector
from models.ensemble import Ensemble, part
from models.frames import align, relayout, select_rows
from models.fusion import Fusion, mean_logarithm
from models.layout import Layout
from models.protocol import Floats, WindowBlock
from models.pruning import representatives
from models.recent import Ranking
from models.regimes import Regimes
from models.registry import Entry, entries
from models.scaling import MEAN, STEPS_PER_EFFECT, Scaler, compressed
from models.scored import Scored
from models.signals import Signals
from models.structure import Gaps
from models.threads import on_one_thread

FEWEST_WINDOWS = 30
_FOLDS = 5
_STRETCHES = 4
_COVERAGE = 0.5
"""A window that lacks more of the modelled channels than this says nothing: the agent has just started, or is stopping."""
_SCORED_AT_ONCE = 1024
_MADE_AT_ONCE = 64
_CELLS = 20_000_000
"""Windows times columns that are fitted at most: a wide host is thinned more, so that a refit stays within two minutes and 2 GB."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What scores mean. tails: one a detector."""

    tails: tuple[Tail, ...]
    fusion: Fusion
    ranking: Ranking


@dataclass(frozen=True)
class Baseline:
    """Aligns any block by channel id: channels it does not know are ignored, those a block lacks count as expected.

    channels: modelled ones, ascending by id.  standing: for each the index of the channel that stands for it (itself: kept).
    steady: [channels], the share of training windows that had a value.
    """

    channels: tuple[Channel, ...]
    layout: Layout
    regimes: Regimes
    standing: NDArray[np.intp]
    steady: Floats
    ensemble: Ensemble
    calibration: Calibration
    signals: Signals
    percentile: float
    windows: int

    @cached_property
    def ids(self) -> NDArray[np.int64]:
        return np.array([channel.id for channel in self.channels], np.int64)

    @cached_property
    def kept(self) -> NDArray[np.intp]:
        return np.unique(self.standing)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Which detectors, in the order of the scores."""
        return self.ensemble.entries

    @property
    def detectors(self) -> tuple[Detector, ...]:
        """What each learnt."""
        return self.ensemble.detectors

    @property
    def scaler(self) -> Scaler:
        """Of all windows, whatever their regime."""
        return self.regimes.whole

    @property
    def threshold(self) -> float:
        """The tail probability beyond which a window is anomalous."""
        return self.calibration.fusion.threshold

    def score(self, block: WindowBlock) -> Scored:
        """A window's scores depend on that window alone: not on the batch, its order, or the number of threads."""
        values = self._values(block)
        parts = [
            self._score(values[start : start + _SCORED_AT_ONCE])
            for start in range(0, max(1, len(values)), _SCORED_AT_ONCE)
        ]
        scores, material = (np.concatenate(part) for part in zip(*parts, strict=True))
        rarity = self.calibration.fusion.probability(scores, self.entries)
        beyond = material & (rarity <= self.threshold)
        tail = np.column_stack(
            [tail.probability(scores[:, index]) for index, tail in enumerate(self.calibration.tails)]
        )
        return Scored(
            ends=block.ends,
            detectors=tuple(each.name for each in self.entries),
            scores=scores,
            tail=tail,
            rank=mean_logarithm(scores, self.entries, "ranks"),
            fused=rarity,
            anomalous=beyond,
            extreme=beyond & (rarity <= self.threshold**2),
            confidence=np.asarray((tail <= self.threshold).mean(axis=1)),
            threshold=self.threshold,
            regimes=self.regimes.names(values),
        )

    def settle(self, block: WindowBlock) -> WindowBlock:
        """The same windows, which follow each other, without longer ones that reach back across a switch of regimes."""
        if len(self.regimes.own) == 1:
            return block
        values = self.regimes.settle(self._values(block), block.ends, self.layout)
        return WindowBlock(block.ends, self.ids, values, self.layout)

    def _values(self, block: WindowBlock) -> NDArray[np.float32]:
        """[windows, channels, features of the layout]"""
        known = block if block.layout == self.layout else relayout(block, self.layout)
        return align(known, self.ids)

    def _score(self, values: NDArray[np.float32]) -> tuple[Floats, NDArray[np.bool_]]:
        steps = self.regimes.steps(values)
        cells = compressed(steps[:, self.kept]).astype(np.float32)
        scores = self.ensemble.score(cells, self.layout)
        return scores, self._material(steps) & self._covered(values)

    def _material(self, steps: Floats) -> NDArray[np.bool_]:
        """Whether some channel's level is further from usual than matters; of one in no known unit, whatever deviates."""
        known = self._in_known_unit
        far = np.abs(steps) >= STEPS_PER_EFFECT
        levels = far[:, :, self.layout.columns("mean")][:, known]
        return np.asarray(levels.any(axis=(1, 2)) | far[:, ~known].any(axis=(1, 2)))

    @cached_property
    def _in_known_unit(self) -> NDArray[np.bool_]:
        return np.array([bool(channel.unit) for channel in self.channels], np.bool_)

    def _covered(self, values: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Whether the channels that were always there in training are mostly here."""
        always = self.steady > 0.99
        present = np.isfinite(values[:, always, MEAN])
        return np.asarray(present.sum(axis=1) >= _COVERAGE * always.sum())

    def contributions(self, block: WindowBlock) -> Floats:
        """[windows, channels], as `channels`: how much each one sets a window apart, as `attribute` shares it out."""
        values = self._values(block)
        parts = [
            contributions(
                self.regimes.steps(values[start : start + _SCORED_AT_ONCE])[:, :, self.layout.telling()]
            )
            for start in range(0, max(1, len(values)), _SCORED_AT_ONCE)
        ]
        return np.concatenate(parts)

    def attribute(
        self, block: WindowBlock, rows: Sequence[int] | NDArray[np.intp]
    ) -> tuple[Attribution, ...]:
        """What set these windows of the block apart, by channel, largest share first; shares sum to 1.

        Pruned channels are attributed too, with the channel that stands for them named. Empty where nothing deviates.
        """
        chosen = select_rows(block, np.asarray(rows, np.intp))
        values = self._values(chosen)
        steps = self.regimes.steps(values)
        parts = (
            contributions(steps[:, :, self.layout.telling()]).mean(axis=0)
            if len(values)
            else np.zeros(len(self.channels))
        )
        level = steps[:, :, MEAN].mean(axis=0) if len(values) else parts
        usual = self.regimes.usual(values)
        return most(
            [
                self._attribution(int(index), float(parts[index]), float(level[index]), usual)
                for index in np.flatnonzero(parts)
            ]
        )

    def _attribution(self, index: int, share: float, deviation: float, usual: Scaler) -> Attribution:
        channel = self.channels[index]
        centre, step = (float(array[index, MEAN]) for array in (usual.centre, usual.step))
        stands = int(self.standing[index])
        return Attribution.of(
            channel,
            share=share,
            expected=centre,
            actual=centre + deviation * step,
            deviation=deviation,
            represented_by="" if stands == index else self.channels[stands].label,
        )

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        """Everything `from_arrays` needs beside the channels, in named arrays without objects."""
        found: dict[str, NDArray[np.generic]] = {
            "baseline/standing": self.standing,
            "baseline/steady": self.steady,
            "baseline/facts": np.array([self.percentile, self.windows], np.float64),
            "baseline/ranking": np.array(astuple(self.calibration.ranking), np.float64),
        }
        found |= {f"layout/{name}": array for name, array in self.layout.arrays().items()}
        found |= {f"regimes/{name}": array for name, array in self.regimes.arrays().items()}
        found |= {f"fusion/{name}": array for name, array in self.calibration.fusion.arrays().items()}
        found |= {f"signals/{name}": array for name, array in self.signals.arrays().items()}
        found |= self.ensemble.arrays()
        for known, tail in zip(self.entries, self.calibration.tails, strict=True):
            found |= {f"{known.name}.tail/{name}": array for name, array in tail.arrays().items()}
        return found

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, NDArray[np.generic]],
        channels: Sequence[Channel],
        detectors: Sequence[str],
    ) -> Baseline:
        """Raises KeyError where an array or a detector is not known."""
        percentile, windows = (float(value) for value in arrays["baseline/facts"].astype(np.float64))
        return cls(
            channels=tuple(channels),
            layout=Layout.from_arrays(part(arrays, "layout")),
            regimes=Regimes.from_arrays(part(arrays, "regimes")),
            standing=arrays["baseline/standing"].astype(np.intp),
            steady=arrays["baseline/steady"].astype(np.float64),
            ensemble=Ensemble.from_arrays(arrays, detectors),
            calibration=Calibration(
                tuple(Tail.from_arrays(part(arrays, f"{name}.tail")) for name in detectors),
                Fusion.from_arrays(part(arrays, "fusion")),
                Ranking(*arrays["baseline/ranking"].tolist()),
            ),
            signals=Signals.from_arrays(part(arrays, "signals")),
            percentile=percentile,
            windows=int(windows),
        )


def most_windows(channels: int, layout: Layout, settings: DetectSettings) -> int:
    """How many windows are fitted at most."""
    return min(settings.train_windows, _CELLS // max(1, channels * len(layout.usual())))


@on_one_thread
def fit_baseline(  # noqa: PLR0913  # facts by name
    block: WindowBlock,
    channels: Mapping[int, Channel],
    settings: DetectSettings,
    seed: int = 0,
    gaps: Gaps | None = None,
    *,
    adopted: Sequence[TimeRange] = (),
) -> Baseline:
    """A baseline from healthy windows; raises ModelError where there are too few, or no channel to model.

    channels: by id; a channel of the block that is not among them, or belongs to hostsight itself, is not modelled.
    gaps: of all windows, where the block is thinned.  adopted: when new regimes were found.
    """
    gaps = gaps or Gaps.of(block)
    chosen = _modelled(block, channels)
    block = _thinned(block, most_windows(len(chosen), block.layout, settings))
    if len(block.ends) < FEWEST_WINDOWS or not chosen:
        raise ModelError(
            f"{len(block.ends)} windows of {len(chosen)} channels are too few to learn from; let the agent collect for at least {FEWEST_WINDOWS} windows"
        )
    values = align(block, np.array([channel.id for channel in chosen], np.int64))
    regimes = Regimes.fit(values, block.ends, chosen, block.layout, seed=seed, adopted=adopted)
    values = regimes.settle(values, block.ends, block.layout)
    cells = _cells(regimes, values)
    _, settled = regimes.tell(values)
    standing = representatives(cells[:, :, MEAN].astype(np.float64), settings.correlation)
    if (kept := np.unique(standing)).size < len(standing):
        cells = cells[:, kept]
    fitting = _Fitting(block.layout, seed)
    return Baseline(
        channels=chosen,
        layout=block.layout,
        regimes=regimes,
        standing=standing,
        steady=np.asarray(np.isfinite(values[:, :, MEAN]).mean(axis=0)),
        ensemble=fitting.fit(cells),
        calibration=fitting.calibrate(cells, np.flatnonzero(settled), block.ends, settings),
        signals=Signals.fit(values[:, :, MEAN], chosen, gaps),
        percentile=settings.percentile,
        windows=len(block.ends),
    )


@dataclass(frozen=True, slots=True)
class _Fitting:
    """What all fits of one baseline share."""

    layout: Layout
    seed: int

    def fit(self, cells: NDArray[np.float32]) -> Ensemble:
        """cells: [windows, kept channels, features]."""
        return Ensemble.fit(cells, self.layout, self.seed)

    def calibrate(
        self,
        cells: NDArray[np.float32],
        settled: NDArray[np.intp],
        ends: NDArray[np.int64],
        settings: DetectSettings,
    ) -> Calibration:
        """On windows the detectors have not seen: a detector's scores of its own training are too low.

        The scale of a step stays that of all windows, as it will be for the windows to come.  settled: rows to calibrate on.
        """
        ends = ends[settled]
        overlap = _overlap(ends, self.layout)
        parts = [
            (held, self.fit(cells[settled[fitted]]).score(cells[settled[held]], self.layout))
            for fitted, held in folds(len(settled), _FOLDS, _STRETCHES, overlap)
        ]
        rows, scores = (np.concatenate(part) for part in zip(*parts, strict=True))
        scores = np.ascontiguousarray(scores[np.argsort(rows)])
        independent = len(settled) / overlap
        known = entries(self.layout)
        return Calibration(
            tails=tuple(Tail.fit(column, independent) for column in scores.T),
            fusion=Fusion.fit(scores, known, independent, ends, settings),
            ranking=Ranking.fit(mean_logarithm(scores, known, "ranks")),
        )


def _cells(regimes: Regimes, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """[windows, channels, features]: what detectors see of all channels, put together a few windows at a time."""
    out = np.empty(values.shape, np.float32)
    for start in range(0, len(values), _MADE_AT_ONCE):
        rows = slice(start, start + _MADE_AT_ONCE)
        out[rows] = compressed(regimes.steps(values[rows]))
    return out


def _modelled(block: WindowBlock, channels: Mapping[int, Channel]) -> tuple[Channel, ...]:
    found = (channels.get(int(channel)) for channel in block.channels)
    return tuple(channel for channel in found if channel is not None and channel.subsystem != "agent")


def _thinned(block: WindowBlock, limit: int) -> WindowBlock:
    if len(block.ends) <= limit:
        return block
    return select_rows(block, np.linspace(0, len(block.ends) - 1, limit).astype(np.intp))


def _overlap(ends: NDArray[np.int64], layout: Layout) -> int:
    """How many windows in a row share samples with the first, in their short features."""
    step = float(np.median(np.diff(ends)))
    length_ns = layout.short_scale * layout.window.length.ns
    return max(1, int(np.ceil(length_ns / step)))
