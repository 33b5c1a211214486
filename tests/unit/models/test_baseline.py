from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from hostsight.channel import Channel, Subsystem
from hostsight.errors import ModelError
from hostsight.settings import DetectSettings
from models.baseline import Baseline, fit_baseline
from models.frames import select_rows
from models.protocol import WindowBlock
from models.scored import Scored
from tests.unit.models.simulator import SimulatedHost

LOADS: Mapping[Subsystem, Mapping[str, float]] = {
    "cpu": {"busy_percent": 95.0, "some_pressure_percent": 60.0},
    "memory": {"available_bytes": -8e9, "faults_per_s": 2e5},
    "network": {"rx_bytes_per_s": 1e9, "tx_bytes_per_s": 3e7},
    "storage": {"write_bytes_per_s": 2e8, "utilisation_percent": 95.0, "write_await_seconds": 0.05},
}


def loaded(simulated: SimulatedHost, subsystem: Subsystem) -> WindowBlock:
    """40 windows, all of them under the load."""
    return simulated.windows(42, start=500, load=LOADS[subsystem], during=(0, 42))


def same(one: Scored, other: Scored, rows: NDArray[np.intp]) -> bool:
    return np.array_equal(one.scores[rows], other.scores) and np.array_equal(one.fused[rows], other.fused)


def test_scores_do_not_depend_on_the_batch(baseline: Baseline, simulated: SimulatedHost) -> None:
    block = simulated.windows(200, start=300, load=LOADS["cpu"], during=(50, 90))
    together = baseline.score(block)
    for size in (1, 2, 7, 64):
        for start in range(0, len(block.ends), size * 9):
            rows = np.arange(start, min(start + size, len(block.ends)))
            assert same(together, baseline.score(select_rows(block, rows)), rows)


def test_scores_do_not_depend_on_row_order(baseline: Baseline, simulated: SimulatedHost) -> None:
    block = simulated.windows(100, start=300)
    order = np.random.default_rng(0).permutation(len(block.ends))
    assert same(baseline.score(block), baseline.score(select_rows(block, order)), order)


def test_scores_do_not_depend_on_threads(baseline: Baseline, simulated: SimulatedHost) -> None:
    block = simulated.windows(100, start=300)
    found = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads):
            found.append(baseline.score(block).scores)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_fitting_the_same_windows_gives_the_same_model(simulated: SimulatedHost) -> None:
    block = simulated.windows(60)
    one, other = (fit_baseline(block, simulated.channels, DetectSettings()) for _ in range(2))
    assert np.array_equal(one.score(block).fused, other.score(block).fused)


@pytest.mark.parametrize("subsystem", LOADS)
def test_a_load_is_anomalous_and_blamed_on_its_subsystem(
    baseline: Baseline, simulated: SimulatedHost, subsystem: Subsystem
) -> None:
    block = loaded(simulated, subsystem)
    assert baseline.score(block).anomalous.mean() > 0.9
    found = baseline.attribute(block, range(len(block.ends)))
    assert found[0].subsystem == subsystem
    assert sum(item.share for item in found) == pytest.approx(1)


def test_attribution_says_expected_actual_and_direction(baseline: Baseline, simulated: SimulatedHost) -> None:
    found = baseline.attribute(loaded(simulated, "memory"), range(40))
    available = next(item for item in found if item.metric == "available_bytes")
    assert available.direction == "low"
    assert available.expected == pytest.approx(2e10, rel=0.01)
    assert available.actual == pytest.approx(1.2e10, rel=0.02)
    assert available.unit == "B"


def test_nothing_is_attributed_to_no_windows(baseline: Baseline, simulated: SimulatedHost) -> None:
    assert baseline.attribute(simulated.windows(10), []) == ()


def test_hostsights_own_channels_are_not_modelled(baseline: Baseline) -> None:
    assert {channel.subsystem for channel in baseline.channels} == {"cpu", "memory", "network", "storage"}


def test_new_channels_are_ignored(baseline: Baseline, simulated: SimulatedHost) -> None:
    block = simulated.windows(50, start=300)
    extra = np.full((len(block.ends), 1, 5), 1e9, np.float32)
    wider = WindowBlock(
        block.ends, np.append(block.channels, 2**62), np.concatenate([block.values, extra], axis=1)
    )
    assert np.array_equal(baseline.score(wider).scores, baseline.score(block).scores)


def test_a_channel_that_is_gone_counts_as_expected(baseline: Baseline, simulated: SimulatedHost) -> None:
    block = loaded(simulated, "storage")
    kept = np.array([simulated.channels[int(each)].subsystem != "storage" for each in block.channels])
    without = WindowBlock(block.ends, block.channels[kept], block.values[:, kept])
    assert baseline.score(without).anomalous.mean() < 0.2


def test_windows_with_hardly_a_channel_say_nothing(baseline: Baseline, simulated: SimulatedHost) -> None:
    block = loaded(simulated, "cpu")
    block.values[:, ::2] = np.nan
    block.values[:, 1::4] = np.nan
    assert not baseline.score(block).anomalous.any()


def test_a_window_without_any_value_scores_without_fault(
    baseline: Baseline, simulated: SimulatedHost
) -> None:
    block = simulated.windows(10)
    block.values[:] = np.nan
    scored = baseline.score(block)
    assert np.isfinite(scored.scores).all()
    assert not scored.anomalous.any()


def test_values_without_bounds_score_without_fault(baseline: Baseline, simulated: SimulatedHost) -> None:
    block = simulated.windows(10)
    block.values[3] = np.float32(3e38)
    block.values[4] = np.inf
    scored = baseline.score(block)
    assert np.isfinite(scored.scores).all()
    assert scored.anomalous[3]


def test_a_constant_channel_may_wobble_but_not_move(baseline: Baseline, simulated: SimulatedHost) -> None:
    swap = np.flatnonzero(simulated.ids == simulated.id("swapped_out_bytes_per_s"))
    block = simulated.windows(60, start=300)
    still = baseline.score(block).anomalous
    block.values[:, swap] += 4096
    wobbling = baseline.score(block).anomalous
    block.values[:, swap] += 3e8
    assert np.array_equal(wobbling, still)
    assert baseline.score(block).anomalous.all()


def test_a_level_that_drifted_in_training_may_drift_on(simulated: SimulatedHost) -> None:
    trained, later = simulated.windows(600), simulated.windows(600, start=600)
    cached = np.flatnonzero(simulated.ids == simulated.id("cached_bytes"))
    for block in (trained, later):
        seconds = (block.ends / 1e9)[:, np.newaxis]
        block.values[:, cached[0], [0, 2, 3]] += (3e6 * seconds).astype(np.float32)
    baseline = fit_baseline(trained, simulated.channels, DetectSettings())
    assert baseline.score(later).anomalous.mean() < 0.05


def test_58_windows_are_enough_and_29_are_not(simulated: SimulatedHost) -> None:
    minute = simulated.windows(60)
    assert len(minute.ends) == 58
    baseline = fit_baseline(minute, simulated.channels, DetectSettings())
    assert baseline.score(loaded(simulated, "memory")).anomalous.all()
    with pytest.raises(ModelError, match="29 windows"):
        fit_baseline(simulated.windows(31), simulated.channels, DetectSettings())


def test_nothing_to_model_is_an_error_in_words(simulated: SimulatedHost) -> None:
    own: dict[int, Channel] = {key: c for key, c in simulated.channels.items() if c.subsystem == "agent"}
    with pytest.raises(ModelError, match="0 channels"):
        fit_baseline(simulated.windows(60), own, DetectSettings())


def test_more_windows_than_the_limit_are_thinned_evenly(simulated: SimulatedHost) -> None:
    settings = DetectSettings(train_windows=60)
    assert fit_baseline(simulated.windows(300), simulated.channels, settings).windows == 60


def test_pruned_channels_are_attributed_with_the_one_that_stands_for_them(simulated: SimulatedHost) -> None:
    block = simulated.windows(300)
    pruned = fit_baseline(block, simulated.channels, DetectSettings(correlation=0.5))
    assert 0 < len(pruned.kept) < len(pruned.channels)
    found = pruned.attribute(loaded(simulated, "cpu"), range(40))
    labels = {channel.label for channel in (pruned.channels[index] for index in pruned.kept)}
    assert {item.represented_by for item in found} - {""} <= labels
    assert any(item.represented_by for item in found)


def test_scored_windows_become_a_row_a_detector_and_one_fused(
    baseline: Baseline, simulated: SimulatedHost
) -> None:
    scored = baseline.score(simulated.windows(12))
    table = scored.table("gpu01", "model-1")
    assert table.num_rows == 10 * 7
    rows = table.slice(0, 7).to_pylist()
    assert [row["detector"] for row in rows] == [
        "zscore",
        "mahalanobis",
        "isolation_forest",
        "gaussian_mixture",
        "nearest",
        "neighbours",
        "fused",
    ]
    assert rows[6]["score"] == pytest.approx(-np.log10(rows[6]["tail_probability"]))
    assert {row["host"] for row in rows} == {"gpu01"}


def test_a_baseline_lasts_in_its_arrays(baseline: Baseline, simulated: SimulatedHost) -> None:
    names = [each.name for each in baseline.entries]
    again = Baseline.from_arrays(baseline.arrays(), baseline.channels, names)
    block = loaded(simulated, "network")
    assert np.array_equal(again.score(block).fused, baseline.score(block).fused)
    assert again.attribute(block, [3, 4]) == baseline.attribute(block, [3, 4])
    assert again.calibration.fusion.guarding.threshold == baseline.calibration.fusion.guarding.threshold
    assert again.calibration.ranking == baseline.calibration.ranking
