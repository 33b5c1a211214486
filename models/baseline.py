"""What healthy windows of one host taught: scales, kept channels, detectors and their calibration.

fit    windows -> Scaler -> steps -> kept channels' columns -> detectors; each calibrated on windows it was not fitted to
score  windows -> steps -> scores -> tail probabilities -> fused, anomalous, confidence
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hostsight.channel import Channel
from hostsight.errors import ModelError
from hostsight.settings import DetectSettings, WindowSettings
from models.attribution import Attribution, contributions, direction, most
from models.calibration import Tail, folds
from models.frames import align, select_rows
from models.protocol import Detector, Floats, WindowBlock
from models.pruning import representatives
from models.registry import DETECTORS, detector
from models.scaling import MEAN, STEPS_PER_EFFECT, Scaler, columns
from models.scored import Scored
from sql.schemas import FEATURE_NAMES

FEWEST_WINDOWS = 30
_FOLDS = 5
_STRETCHES = 4
_COVERAGE = 0.5
"""A window that lacks more of the modelled channels than this says nothing: the agent has just started, or is stopping."""
_SCORED_AT_ONCE = 1024
_CELLS = 20_000_000
"""Windows times columns that are fitted at most: a wide host is thinned more, so that a refit stays within 2 GB."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """Aligns any block by channel id: channels it does not know are ignored, those a block lacks count as expected.

    channels: modelled ones, ascending by id.  standing: for each the index of the channel that stands for it (itself: kept).
    steady: [channels], the share of training windows that had a value.
    """

    channels: tuple[Channel, ...]
    scaler: Scaler
    standing: NDArray[np.intp]
    steady: Floats
    detectors: tuple[Detector, ...]
    tails: tuple[Tail, ...]
    percentile: float
    windows: int

    @property
    def ids(self) -> NDArray[np.int64]:
        return np.array([channel.id for channel in self.channels], np.int64)

    @property
    def kept(self) -> NDArray[np.intp]:
        return np.unique(self.standing)

    @property
    def threshold(self) -> float:
        """The tail probability beyond which a window is anomalous."""
        return 1 - self.percentile / 100

    def score(self, block: WindowBlock) -> Scored:
        """A window's scores depend on that window alone: not on the batch, its order, or the number of threads."""
        values = align(block, self.ids)
        parts = [
            self._score(values[start : start + _SCORED_AT_ONCE])
            for start in range(0, max(1, len(values)), _SCORED_AT_ONCE)
        ]
        scores, material = (np.concatenate(part) for part in zip(*parts, strict=True))
        tail = np.column_stack([tail.probability(scores[:, index]) for index, tail in enumerate(self.tails)])
        fused = fuse(tail)
        beyond = material & (fused <= self.threshold)
        return Scored(
            ends=block.ends,
            detectors=tuple(each.name for each in self.detectors),
            scores=scores,
            tail=tail,
            fused=fused,
            anomalous=beyond,
            extreme=beyond & (fused <= self.threshold**2),
            confidence=np.asarray((tail <= self.threshold).mean(axis=1)),
            threshold=self.threshold,
        )

    def _score(self, values: NDArray[np.float32]) -> tuple[Floats, NDArray[np.bool_]]:
        steps = self.scaler.steps(values)
        x = columns(steps, self.kept)
        scores = np.column_stack([each.score(x) for each in self.detectors])
        level = np.abs(steps[:, :, MEAN]).max(axis=1, initial=0.0)
        return scores, (level >= STEPS_PER_EFFECT) & self._covered(values)

    def _covered(self, values: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Whether the channels that were always there in training are mostly here."""
        always = self.steady > 0.99
        present = np.isfinite(values[:, always, MEAN])
        return np.asarray(present.sum(axis=1) >= _COVERAGE * always.sum())

    def attribute(
        self, block: WindowBlock, rows: Sequence[int] | NDArray[np.intp]
    ) -> tuple[Attribution, ...]:
        """What set these windows of the block apart, by channel, largest share first; shares sum to 1.

        Pruned channels are attributed too, with the channel that stands for them named. Empty where nothing deviates.
        """
        chosen = select_rows(block, np.asarray(rows, np.intp))
        values = align(chosen, self.ids)
        steps = self.scaler.steps(values)
        parts = contributions(steps).mean(axis=0) if len(values) else np.zeros(len(self.channels))
        level = steps[:, :, MEAN].mean(axis=0) if len(values) else parts
        return most(
            [
                self._attribution(int(index), float(parts[index]), float(level[index]))
                for index in np.flatnonzero(parts)
            ]
        )

    def _attribution(self, index: int, share: float, deviation: float) -> Attribution:
        channel = self.channels[index]
        centre, step = (float(array[index, MEAN]) for array in (self.scaler.centre, self.scaler.step))
        stands = int(self.standing[index])
        return Attribution(
            channel_id=channel.id,
            subsystem=channel.subsystem,
            device=channel.device,
            metric=channel.metric,
            share=share,
            expected=centre,
            actual=centre + deviation * step,
            unit=channel.unit,
            direction=direction(deviation),
            deviation=deviation,
            represented_by="" if stands == index else self.channels[stands].label,
        )

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        """Everything `from_arrays` needs beside the channels, in named arrays without objects."""
        found: dict[str, NDArray[np.generic]] = {
            "baseline/standing": self.standing,
            "baseline/steady": self.steady,
            "baseline/facts": np.array([self.percentile, self.windows], np.float64),
        }
        found |= {f"scaler/{name}": array for name, array in self.scaler.arrays().items()}
        for each, tail in zip(self.detectors, self.tails, strict=True):
            found |= {f"{each.name}/{name}": array for name, array in each.arrays().items()}
            found |= {f"{each.name}.tail/{name}": array for name, array in tail.arrays().items()}
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
            scaler=Scaler.from_arrays(_part(arrays, "scaler")),
            standing=arrays["baseline/standing"].astype(np.intp),
            steady=arrays["baseline/steady"].astype(np.float64),
            detectors=tuple(detector(name).from_arrays(_part(arrays, name)) for name in detectors),
            tails=tuple(Tail.from_arrays(_part(arrays, f"{name}.tail")) for name in detectors),
            percentile=percentile,
            windows=int(windows),
        )


def _part(arrays: Mapping[str, NDArray[np.generic]], name: str) -> dict[str, NDArray[np.generic]]:
    start = f"{name}/"
    return {key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)}


def fuse(tail: Floats) -> Floats:
    """[windows, detectors] -> [windows]: the strongest detector's tail probability, for as many chances as there are."""
    return np.asarray(np.minimum(1.0, tail.min(axis=1) * tail.shape[1]))


def fit_baseline(
    block: WindowBlock,
    channels: Mapping[int, Channel],
    settings: DetectSettings,
    seed: int = 0,
    window: WindowSettings = WindowSettings(),  # noqa: B008  # frozen
) -> Baseline:
    """A baseline from healthy windows; raises ModelError where there are too few, or no channel to model.

    channels: by id; a channel of the block that is not among them, or belongs to hostsight itself, is not modelled.
    """
    chosen = _modelled(block, channels)
    block = _thinned(block, min(settings.train_windows, _CELLS // max(1, len(chosen) * len(FEATURE_NAMES))))
    if len(block.ends) < FEWEST_WINDOWS or not chosen:
        raise ModelError(
            f"{len(block.ends)} windows of {len(chosen)} channels are too few to learn from; let the agent collect for at least {FEWEST_WINDOWS} windows"
        )
    values = align(block, np.array([channel.id for channel in chosen], np.int64))
    overlap = _overlap(block.ends, window)
    standing = representatives(Scaler.fit(values, chosen).steps(values)[:, :, MEAN], settings.correlation)
    scaler, detectors = _fit(values, chosen, np.unique(standing), seed)
    return Baseline(
        channels=chosen,
        scaler=scaler,
        standing=standing,
        steady=np.asarray(np.isfinite(values[:, :, MEAN]).mean(axis=0)),
        detectors=detectors,
        tails=_calibrate(values, chosen, np.unique(standing), overlap, seed),
        percentile=settings.percentile,
        windows=len(block.ends),
    )


def _modelled(block: WindowBlock, channels: Mapping[int, Channel]) -> tuple[Channel, ...]:
    found = (channels.get(int(channel)) for channel in block.channels)
    return tuple(channel for channel in found if channel is not None and channel.subsystem != "agent")


def _thinned(block: WindowBlock, limit: int) -> WindowBlock:
    if len(block.ends) <= limit:
        return block
    return select_rows(block, np.linspace(0, len(block.ends) - 1, limit).astype(np.intp))


def _overlap(ends: NDArray[np.int64], window: WindowSettings) -> int:
    """How many windows in a row share samples with the first."""
    step = float(np.median(np.diff(ends)))
    return max(1, int(np.ceil(window.length.ns / step)))


def _fit(
    values: NDArray[np.float32], channels: Sequence[Channel], kept: NDArray[np.intp], seed: int
) -> tuple[Scaler, tuple[Detector, ...]]:
    scaler = Scaler.fit(values, channels)
    x = columns(scaler.steps(values), kept)
    return scaler, tuple(kind.fit(x, seed) for kind in DETECTORS)


def _calibrate(
    values: NDArray[np.float32], channels: Sequence[Channel], kept: NDArray[np.intp], overlap: int, seed: int
) -> tuple[Tail, ...]:
    """Each detector's tail on windows it has not seen: a detector's scores of its own training are too low."""
    scores = np.empty((len(values), len(DETECTORS)))
    for fitted, held in folds(len(values), _FOLDS, _STRETCHES, overlap):
        scaler, detectors = _fit(values[fitted], channels, kept, seed)
        x = columns(scaler.steps(values[held]), kept)
        scores[held] = np.column_stack([each.score(x) for each in detectors])
    return tuple(Tail.fit(column, len(values) / overlap) for column in scores.T)
