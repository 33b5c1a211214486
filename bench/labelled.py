"""Machines whose incidents are known: `DATA/<set>/<machine>` with train.parquet, test.parquet (ts, label) and causes.json.

The measures are point by point, without adjustment, so that a random score cannot pass them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hostsight.clock import SECOND_NS
from hostsight.errors import UsageError
from hostsight.files import unreadable
from models.protocol import Floats

LABEL = "label"
_DAY_NS = 86_400 * SECOND_NS


class Cause(msgspec.Struct, frozen=True):
    """An incident and the metrics that experts named for it."""

    first_row: int
    end_row: int
    metrics: tuple[str, ...]


class _Causes(msgspec.Struct, frozen=True):
    causes: tuple[Cause, ...]


@dataclass(frozen=True, slots=True)
class Machine:
    """name: `<set>/<machine>`."""

    name: str
    folder: Path

    @property
    def set(self) -> str:
        return self.name.partition("/")[0]

    def labels(self) -> NDArray[np.bool_]:
        """[rows] of the test half. Raises UsageError where it has none, or none of numbers."""
        path = self.folder / "test.parquet"
        try:
            with pq.ParquetFile(path) as file:
                column = file.read([LABEL]).column(LABEL)
            return np.asarray(column.cast(pa.float64()).to_numpy() > 0)
        except (KeyError, pa.ArrowException) as error:
            raise UsageError(
                f"{path}: the column {LABEL}, 0 or 1 for each row, cannot be read ({error}); write it anew, or leave that machine out"
            ) from error
        except OSError as error:
            raise unreadable(error, path) from error

    def causes(self) -> tuple[Cause, ...]:
        """Raises UsageError where there is no file of them, or what it holds is not understood."""
        path = self.folder / "causes.json"
        try:
            found = msgspec.json.decode(path.read_bytes(), type=_Causes).causes
        except OSError as error:
            raise unreadable(error, path) from error
        except msgspec.DecodeError as error:
            raise UsageError(
                f'{path} is not {{"causes": [{{"first_row": 3, "end_row": 5, "metrics": ["cpu"]}}]}} ({error}); write it anew'
            ) from error
        for cause in found:
            if not 0 <= cause.first_row < cause.end_row:
                raise UsageError(
                    f"{path}: rows {cause.first_row} to {cause.end_row} are no incident; first_row begins it, end_row is the row after it"
                )
        return found


def machines(data: Path) -> list[Machine]:
    """By name. Raises UsageError where the folder holds none."""
    found = [
        Machine(f"{path.parent.parent.name}/{path.parent.name}", path.parent)
        for path in sorted(data.glob("*/*/test.parquet"))
        if (path.parent / "train.parquet").is_file()
    ]
    if not found:
        raise UsageError(f"{data} holds no labelled machine: <set>/<machine>/train.parquet and test.parquet")
    return found


def auc_pr(labels: NDArray[np.bool_], scores: Floats) -> float:
    """Area under precision-recall as the mean precision at each labelled row; ties count together."""
    precision, recall = _curve(labels, scores)
    return float((np.diff(recall, prepend=0.0) * precision).sum())


def best_f1(labels: NDArray[np.bool_], scores: Floats) -> float:
    precision, recall = _curve(labels, scores)
    return float((2 * precision * recall / np.maximum(precision + recall, 1e-12)).max())


def _curve(labels: NDArray[np.bool_], scores: Floats) -> tuple[Floats, Floats]:
    """(precision, recall) at each distinct score, from the highest down."""
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.diff(scores[order]) != 0, True)
    hits = np.cumsum(labels[order])[last]
    shown = np.flatnonzero(last) + 1
    return hits / shown, hits / max(1, int(labels.sum()))


def hit_rate(contributions: Floats, names: Sequence[str], causes: Sequence[Cause], slack: float) -> float:
    """Of the metrics that experts named for an incident (n of them), the share found among the first `slack` * n."""
    shares = []
    for cause in causes:
        named = {names.index(metric) for metric in cause.metrics if metric in names}
        if named and cause.first_row < len(contributions):
            order = np.argsort(-contributions[cause.first_row : cause.end_row].mean(axis=0))
            shares.append(len(set(order[: int(slack * len(named))].tolist()) & named) / len(named))
    return float(np.mean(shares)) if shares else float("nan")


def incidents(labels: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """(first row, last row) of each run of labelled rows."""
    edges = np.diff(labels.astype(np.int8), prepend=0, append=0)
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Shown:
    """What an operator would have seen. precision: of episodes, those that touch an incident; recall: of incidents.

    quiet_day: how many episodes begin in 24 hours without an incident, on average; NaN where there is no such day.
    """

    per_day: float
    precision: float
    recall: float
    quiet_day: float


def shown(episodes: Sequence[tuple[int, int]], labels: NDArray[np.bool_], ts: NDArray[np.int64]) -> Shown:
    """episodes: (start, end), nanoseconds."""
    real = [(int(ts[first]), int(ts[last])) for first, last in incidents(labels)]
    return Shown(
        per_day=len(episodes) / (float(ts[-1] - ts[0]) / _DAY_NS),
        precision=_touching(episodes, real),
        recall=_touching(real, episodes),
        quiet_day=_quiet_day([start for start, _ in episodes], labels, ts),
    )


def _quiet_day(starts: Sequence[int], labels: NDArray[np.bool_], ts: NDArray[np.int64]) -> float:
    """Over the 24 hours from each row on, of those that lie within the recording and hold no labelled row."""
    ends = np.searchsorted(ts, ts + _DAY_NS)
    first = np.flatnonzero(ts + _DAY_NS <= ts[-1])
    before = np.concatenate([[0], np.cumsum(labels)])
    quiet = first[before[ends[first]] == before[first]]
    if not len(quiet):
        return float("nan")
    begun = np.sort(np.asarray(starts, np.int64))
    return float((np.searchsorted(begun, ts[quiet] + _DAY_NS) - np.searchsorted(begun, ts[quiet])).mean())


def _touching(spans: Sequence[tuple[int, int]], others: Sequence[tuple[int, int]]) -> float:
    """The share of `spans` that overlap one of `others`; NaN where there is none."""
    if not spans:
        return float("nan")
    return float(np.mean([any(a <= d and c <= b for c, d in others) for a, b in spans]))
