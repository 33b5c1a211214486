"""A host that alternates between jobs: what its training shows, and what is seen inside one of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from itertools import pairwise

import numpy as np
import pytest

from hostsight.channel import Channel
from hostsight.clock import SECOND_NS
from hostsight.settings import DetectSettings, WindowSettings
from hostsight.timerange import TimeRange
from models.baseline import Baseline, fit_baseline
from models.episode_state import EpisodeChange
from models.episodes import EpisodeTracker
from models.frames import concatenate, select_rows
from models.history import History
from models.layout import layout_for
from models.protocol import WindowBlock
from models.regimes import Regimes
from models.scored import Scored
from tests.unit.models.simulator import Load, SimulatedHost

IDLE: Load = {}
TRAINING: Load = {"busy_percent": 70.0, "faults_per_s": 5e4}
CHECKPOINT: Load = {"busy_percent": 30.0, "write_bytes_per_s": 3e8, "utilisation_percent": 80.0}
CYCLE = ((IDLE, 320), (TRAINING, 400), (CHECKPOINT, 120))
LEARNT_SECONDS = 1_680
HOST = SimulatedHost()


def telemetry(phases: Sequence[tuple[Load, int]], start: int = 0) -> WindowBlock:
    """The shortest windows of phases that follow each other."""
    parts = []
    for load, seconds in phases:
        parts.append(HOST.windows(seconds, start=start, load=load, during=(0, seconds)))
        start += seconds
    return concatenate(parts)


def fitted(block: WindowBlock) -> Baseline:
    layout = layout_for(WindowSettings(), int(block.ends[-1] - block.ends[0]))
    return fit_baseline(History(layout).widen(block), HOST.channels, DetectSettings())


def regimes(block: WindowBlock, *adopted: TimeRange) -> Regimes:
    layout = layout_for(WindowSettings(), int(block.ends[-1] - block.ends[0]))
    wide = History(layout).widen(block)
    channels = tuple(HOST.channels[int(each)] for each in wide.channels)
    return Regimes.fit(wide.values, wide.ends, channels, layout, adopted=adopted)


@cache
def learnt() -> Baseline:
    """From two cycles."""
    return fitted(telemetry(CYCLE * 2))


@cache
def unsplit() -> Baseline:
    """The same training as one: what a single scale learns from it."""
    patch = pytest.MonkeyPatch()
    patch.setattr("models.regime_search._MOST", 1)
    try:
        return fitted(telemetry(CYCLE * 2))
    finally:
        patch.undo()


def judged(baseline: Baseline, block: WindowBlock) -> tuple[Scored, list[EpisodeChange]]:
    wide = History(baseline.layout, baseline.settle).widen(block)
    tracker = EpisodeTracker(HOST.host, DetectSettings(), SECOND_NS)
    scored = baseline.score(wide)
    return scored, tracker.update(scored, partial(baseline.attribute, wide), "m1")


def test_alternating_jobs_are_as_many_regimes_named_by_what_tells_them_apart() -> None:
    known = learnt().regimes.known
    assert [round(each.share, 1) for each in known] == [0.4, 0.5, 0.1]
    assert [each.name.rsplit(" ", 2)[0] for each in known] == ["cpu busy"] * 3
    levels = [float(each.name.split()[2]) for each in known]
    assert levels == pytest.approx([3.5, 74, 34], abs=1.5)
    assert [each.last_ns // SECOND_NS for each in known][1:] == pytest.approx([1560, 1680], abs=3)


@pytest.mark.parametrize("seconds", [180, 3600])
def test_a_steady_host_has_one_regime(seconds: int) -> None:
    (only,) = regimes(HOST.windows(seconds)).known
    assert (only.name, only.share) == ("", 1.0)


def test_a_level_that_swings_slowly_is_no_two_regimes() -> None:
    swing = [({"busy_percent": 35 + 35 * float(np.sin(each / 20))}, 30) for each in range(160)]
    assert len(regimes(telemetry(swing)).known) == 1


def test_bursts_are_no_regime() -> None:
    bursts = [(load, seconds) for _ in range(60) for load, seconds in ((IDLE, 50), (CHECKPOINT, 10))]
    assert len(regimes(telemetry(bursts)).known) == 1


def test_a_difference_that_matters_to_nobody_is_no_regime() -> None:
    phases: Sequence[tuple[Load, int]] = ((IDLE, 600), ({"swapped_out_bytes_per_s": 1e5}, 600)) * 2
    assert len(regimes(telemetry(phases)).known) == 1


def test_switching_between_known_regimes_opens_no_episode() -> None:
    _, changes = judged(learnt(), telemetry(CYCLE * 2, start=LEARNT_SECONDS))
    switches = np.cumsum([seconds for _, seconds in CYCLE * 2])[:-1] + LEARNT_SECONDS
    opened = [change.opened_ns // SECOND_NS for change in changes if change.action == "opened"]
    assert not [each for each in opened if (np.abs(each - switches) < 60).any()]


def test_an_incident_inside_a_regime_is_seen_that_one_scale_for_all_hides() -> None:
    slow: Load = {"busy_percent": 25.0}
    block = telemetry(((IDLE, 300), (slow, 120), (IDLE, 120), (TRAINING, 120)), start=LEARNT_SECONDS)
    _, changes = judged(learnt(), block)
    assert [change.action for change in changes] == ["opened", "closed"]
    assert changes[0].opened_ns / SECOND_NS - LEARNT_SECONDS - 300 < 15
    main = changes[-1].attribution[0]
    assert (main.subsystem, main.metric, main.direction) == ("cpu", "busy_percent", "high")
    assert main.expected == pytest.approx(3.5, abs=2)
    assert judged(unsplit(), block)[1] == []


def test_what_is_usual_in_one_regime_is_an_incident_in_another() -> None:
    stalled: Load = {**TRAINING, "faults_per_s": 0.0}
    _, changes = judged(learnt(), telemetry(((TRAINING, 200), (stalled, 120)), start=LEARNT_SECONDS))
    assert changes[0].action == "opened"
    assert changes[-1].metric == "faults_per_s"


def test_settled_windows_do_not_depend_on_how_telemetry_is_cut() -> None:
    block, baseline = telemetry(((IDLE, 120), (TRAINING, 120)), start=LEARNT_SECONDS), learnt()
    whole = History(baseline.layout, baseline.settle).widen(block)
    history = History(baseline.layout, baseline.settle)
    edges = [0, 1, 3, 60, 121, 122, 130, 200, len(block.ends)]
    parts = [history.widen(select_rows(block, slice(start, stop))) for start, stop in pairwise(edges)]
    assert np.array_equal(concatenate(parts).values, whole.values, equal_nan=True)
    assert np.isnan(whole.values[125, :, 5:]).all(), "the window of 15 s reaches across the switch"
    assert np.isfinite(whole.values[-1]).all()


def test_scores_of_regimes_do_not_depend_on_the_batch_or_its_order() -> None:
    baseline = learnt()
    block = History(baseline.layout, baseline.settle).widen(telemetry(CYCLE, start=LEARNT_SECONDS))
    together = baseline.score(block)
    order = np.random.default_rng(0).permutation(len(block.ends))[:200]
    assert np.array_equal(baseline.score(select_rows(block, order)).scores, together.scores[order])
    one = baseline.score(select_rows(block, order[:1]))
    assert np.array_equal(one.scores, together.scores[order[:1]])


def test_a_baseline_of_regimes_survives_as_arrays() -> None:
    baseline, block = learnt(), telemetry(CYCLE, start=LEARNT_SECONDS)
    names = [entry.name for entry in baseline.entries]
    same = Baseline.from_arrays(baseline.arrays(), baseline.channels, names)
    assert same.regimes.known == baseline.regimes.known
    assert np.array_equal(judged(same, block)[0].fused, judged(baseline, block)[0].fused)


def test_what_was_found_to_be_a_new_regime_is_one_however_brief() -> None:
    block = telemetry(((IDLE, 2700), (TRAINING, 100)))
    assert len(regimes(block).known) == 1, "100 seconds of 47 minutes are a burst"
    found = regimes(block, TimeRange(2700 * SECOND_NS, 2800 * SECOND_NS))
    assert [each.name.split()[1] for each in found.known] == ["busy", "busy"]
    assert found.known[1].share == pytest.approx(100 / 2800, rel=0.05)
    assert found.known[1].first_ns // SECOND_NS == pytest.approx(2702, abs=2)


def test_the_same_job_found_twice_is_one_regime() -> None:
    block = telemetry(((IDLE, 900), (TRAINING, 100), (IDLE, 900), (TRAINING, 100)))
    spans = [TimeRange(start * SECOND_NS, (start + 100) * SECOND_NS) for start in (900, 1900)]
    assert len(regimes(block, *spans).known) == 2


def test_nothing_but_a_new_regime_is_one_regime() -> None:
    assert len(regimes(telemetry(((IDLE, 300),)), TimeRange(0, 300 * SECOND_NS)).known) == 1


def test_what_alternates_faster_than_windows_is_no_regime_where_no_window_is_like_its_mean() -> None:
    half: Load = {"busy_percent": 40.0, "faults_per_s": 2.5e4}
    apart = telemetry(((IDLE, 700), (TRAINING, 700), (CHECKPOINT, 700), (half, 700)))
    alternating = telemetry(((half, 5), (CHECKPOINT, 5)) * 30, start=2800)
    found = regimes(concatenate([apart, alternating]), TimeRange(2800 * SECOND_NS, 3100 * SECOND_NS))
    assert [round(each.share, 2) for each in found.known] == [0.23, 0.26, 0.24, 0.26]


def test_a_new_regime_of_a_wide_host_is_one_though_few_channels_show_it() -> None:
    """What hundreds of others vary by hides nothing, and what is as usual is no regime of its own."""
    noise, job, windows = 400, 12, 600
    rng = np.random.default_rng(3)
    values = np.zeros((windows, noise + job, 5), np.float32)
    values[:, :, 0] = rng.normal(50.0, [5.0] * noise + [0.5] * job, (windows, noise + job))
    values[500:, noise:, 0] += 40.0
    channels = [
        Channel("wide", "cpu", f"cpu{each}", "user_percent", "gauge", "%", 1.0, "simulated")
        for each in range(noise + job)
    ]
    ends = np.arange(1, windows + 1) * SECOND_NS

    def shares(first: int, last: int) -> list[float]:
        new = TimeRange(first * SECOND_NS, last * SECOND_NS)
        found = Regimes.fit(
            values[:last], ends[:last], channels, layout_for(WindowSettings(), 1), adopted=[new]
        )
        return [round(each.share, 2) for each in found.known]

    assert shares(500, 600) == [0.83, 0.17]
    assert shares(300, 400) == [1.0]
