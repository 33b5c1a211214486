"""How well incidents of labelled machines are found: each detector, what is fused, chance, and the paper's fusion."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import psutil

from bench.labelled import LABEL, Machine, Shown, auc_pr, best_f1, hit_rate, machines, shown
from bench.report import report
from hostsight.settings import Settings
from ingest.recording import read_recordings
from jobs.analysis import Analysis, Analyst
from models.protocol import Floats
from models.recent import Ranking

FUSED, PAPER, RANDOM = "fused", "paper", "random"
_PAPERS = ("zscore", "mahalanobis", "isolation_forest")


@dataclass(frozen=True, slots=True)
class Measured:
    """One machine. ranked: for each way to rank its rows, (auc_pr, best_f1); `fused` is what `analyze` writes."""

    machine: str
    ranked: Mapping[str, tuple[float, float]]
    hit100: float
    hit150: float
    shown: Shown
    seconds: float


def bench_detect(settings: Settings, data: Path) -> dict[str, object]:
    """Analyse every machine of the folder, as many at once as there are CPUs. Raises UsageError where there is none."""
    found = machines(data)
    for machine in found:  # what is wrong is told before the first is learnt from
        machine.labels()
        machine.causes()
    workers = min(len(found), psutil.cpu_count() or 1)
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        measured = list(pool.map(partial(measure, settings), found))
    sets: dict[str, list[Measured]] = {}
    for machine, one in zip(found, measured, strict=True):
        sets.setdefault(machine.set, []).append(one)
    return report(
        "detect",
        {"data": str(data), "machines": len(found), "alert_budget": settings.detect.alert_budget},
        {
            "sets": {name: _summary(group) for name, group in sets.items()},
            "left_out": left_out(sets),
            "machines": {one.machine: _row(one) for one in measured},
        },
    )


def measure(settings: Settings, machine: Machine) -> Measured:
    """One machine, in a process of its own."""
    start = time.perf_counter()
    halves = [machine.folder / f"{half}.parquet" for half in ("train", "test")]
    train, test = read_recordings(halves, exclude=[LABEL])
    analysis = Analyst(settings.detect, settings.window).analyse(train, test)
    labels, causes = machine.labels(), machine.causes()
    rankings = _rankings(analysis) | {RANDOM: np.random.default_rng(0).random(len(labels))}
    hits = [hit_rate(analysis.contributions, analysis.names, causes, slack) for slack in (1.0, 1.5)]
    spans = [
        (analysis.stamp_ns(each.opened_ns), analysis.stamp_ns(each.last_seen_ns))
        for each in analysis.episodes
    ]
    return Measured(
        machine=machine.name,
        ranked={name: (auc_pr(labels, each), best_f1(labels, each)) for name, each in rankings.items()},
        hit100=hits[0],
        hit150=hits[1],
        shown=shown(spans, labels, analysis.ts),
        seconds=time.perf_counter() - start,
    )


def _rankings(analysis: Analysis) -> dict[str, Floats]:
    """Ways to rank the test's rows, higher is more anomalous."""
    scored = analysis.scored
    columns = dict(zip(scored.detectors, scored.scores.T, strict=True))
    tails = dict(zip(scored.detectors, scored.tail.T, strict=True))
    paper = np.mean([-np.log10(tails[name]) for name in _PAPERS], axis=0)
    ways = {**columns, PAPER: paper, "fused_without_recent_share": scored.rank}
    ways["mahalanobis_with_recent_share"] = _with_recent_share(analysis, "mahalanobis")
    rows = {name: analysis.of_rows(values) for name, values in ways.items()}
    return rows | {FUSED: analysis.score}


def _with_recent_share(analysis: Analysis, name: str) -> Floats:
    """One detector's scores, raised by their recent past as the fused ones are."""
    index = analysis.scored.detectors.index(name)
    tail = analysis.baseline.calibration.tails[index]
    high = float(np.interp(0.95, tail.levels, tail.quantiles))
    ranking = Ranking(float(np.log(tail.median)), float(np.log(high)))
    return ranking.with_recent_share(np.log(analysis.scored.scores[:, index]))


def _summary(group: Sequence[Measured]) -> dict[str, object]:
    names = group[0].ranked
    ranked = {
        name: {
            "auc_pr": _mean([one.ranked[name][0] for one in group]),
            "best_f1": _mean([one.ranked[name][1] for one in group]),
        }
        for name in names
    }
    return {
        "machines": len(group),
        "ranked": ranked,
        "hit100": _mean([one.hit100 for one in group]),
        "hit150": _mean([one.hit150 for one in group]),
        "episodes_per_day": _mean([one.shown.per_day for one in group]),
        "episode_precision": _mean([one.shown.precision for one in group]),
        "event_recall": _mean([one.shown.recall for one in group]),
        "quiet_day_episodes": _mean([one.shown.quiet_day for one in group]),
    }


def _row(one: Measured) -> dict[str, object]:
    return {
        "auc_pr": one.ranked[FUSED][0],
        "best_f1": one.ranked[FUSED][1],
        "hit100": one.hit100,
        "hit150": one.hit150,
        "episodes_per_day": one.shown.per_day,
        "episode_precision": one.shown.precision,
        "event_recall": one.shown.recall,
        "quiet_day_episodes": one.shown.quiet_day,
        "seconds": one.seconds,
    }


def left_out(sets: Mapping[str, Sequence[Measured]]) -> dict[str, object]:
    """What each machine gets from the way to rank that is best on all others (sets count alike), and which that is."""
    everyone = [(name, one) for name, group in sets.items() for one in group]
    chosen = {}
    for name, one in everyone:
        rest = {key: [each for each in group if each is not one] for key, group in sets.items()}
        best = max(
            one.ranked,
            key=lambda way, rest=rest: _mean(  # type: ignore[misc]  # mypy does not see the default's type
                [_mean([each.ranked[way][0] for each in group]) for group in rest.values()]
            ),
        )
        chosen[one.machine] = (name, best, one.ranked[best])
    by_set = {
        name: {
            "auc_pr": _mean([pair[0] for which, _, pair in chosen.values() if which == name]),
            "best_f1": _mean([pair[1] for which, _, pair in chosen.values() if which == name]),
        }
        for name in sets
    }
    return {"sets": by_set, "chosen": {machine: best for machine, (_, best, _) in chosen.items()}}


def _mean(values: Sequence[float]) -> float:
    """Over those that are known."""
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else float("nan")
