"""What becomes a new regime, and what stays an incident however long it lasts."""

from __future__ import annotations

import numpy as np
import pytest

from hostsight.channel import Channel
from hostsight.clock import SECOND_NS
from models.baseline import Baseline
from models.frames import select_rows
from models.protocol import WindowBlock
from models.steadiness import harms, is_new_regime, slices
from tests.unit.models.simulator import Load, SimulatedHost

START, SECONDS = 500, 600
JOB: Load = {"busy_percent": 70.0, "faults_per_s": 5e4}


def parts(block: WindowBlock) -> list[WindowBlock]:
    opened_ns, end_ns = START * SECOND_NS, (START + SECONDS) * SECOND_NS
    return [
        select_rows(block, (block.ends > part.start_ns) & (block.ends <= part.end_ns))
        for part in slices(opened_ns, end_ns, SECOND_NS)
    ]


def during(host: SimulatedHost, load: Load) -> WindowBlock:
    return host.windows(SECONDS, start=START, load=load, during=(0, SECONDS))


def test_the_newer_half_is_looked_at_in_five_slices_of_half_a_minute() -> None:
    found = slices(0, 3600 * SECOND_NS, SECOND_NS)
    assert [(part.start_ns // SECOND_NS, part.end_ns // SECOND_NS) for part in found] == [
        (1800, 1830),
        (2242, 2272),
        (2685, 2715),
        (3127, 3157),
        (3570, 3600),
    ]


def test_a_steady_job_is_a_new_regime(baseline: Baseline, simulated: SimulatedHost) -> None:
    assert is_new_regime(baseline, parts(during(simulated, JOB)))


def test_usual_windows_are_none(baseline: Baseline, simulated: SimulatedHost) -> None:
    assert not is_new_regime(baseline, parts(during(simulated, {})))


def test_a_level_that_moves_towards_its_limit_is_none(baseline: Baseline, simulated: SimulatedHost) -> None:
    """A leak: an episode's newer half holds half of its growth, whenever one looks."""
    block = during(simulated, {})
    column = int(np.flatnonzero(block.channels == simulated.id("available_bytes"))[0])
    leak = 1e10 * np.linspace(0, 1, len(block.ends))[:, np.newaxis]
    block.values[:, column, [0, 2, 3]] -= leak.astype(np.float32)
    assert not is_new_regime(baseline, parts(block))


def test_more_retransmissions_are_no_way_to_be_however_steady(
    baseline: Baseline, simulated: SimulatedHost
) -> None:
    load: Load = {**JOB, "tcp_retransmitted_segments_per_s": 5_000.0}
    assert not is_new_regime(baseline, parts(during(simulated, load)))


def test_what_comes_and_goes_is_none(baseline: Baseline, simulated: SimulatedHost) -> None:
    block, busy = during(simulated, {}), during(simulated, JOB)
    values = np.where((np.arange(len(block.ends)) // 45 % 2 == 0)[:, None, None], busy.values, block.values)
    mixed = WindowBlock(block.ends, block.channels, values)
    assert not is_new_regime(baseline, parts(mixed))


def test_slices_hold_windows_that_are_a_minute_apart() -> None:
    found = slices(0, 1200 * SECOND_NS, 60 * SECOND_NS)
    assert [(part.end_ns - part.start_ns) // SECOND_NS for part in found] == [120] * 5


def slow(block: WindowBlock, simulated: SimulatedHost, metric: str) -> None:
    """The metric has a value in three of ten windows from here on."""
    column = int(np.flatnonzero(block.channels == simulated.id(metric))[0])
    block.values[np.arange(len(block.ends)) % 10 >= 3, column] = np.nan


def test_harm_that_a_channel_of_the_slow_tier_shows_is_seen(
    baseline: Baseline, simulated: SimulatedHost
) -> None:
    metric = "tcp_retransmitted_segments_per_s"
    block = during(simulated, {**JOB, metric: 5_000.0})
    slow(block, simulated, metric)
    assert not is_new_regime(baseline, parts(block))


def test_a_steady_level_of_the_slow_tier_is_a_new_regime(
    baseline: Baseline, simulated: SimulatedHost
) -> None:
    block = during(simulated, {"faults_per_s": 5e4})
    slow(block, simulated, "faults_per_s")
    assert is_new_regime(baseline, parts(block))


def test_a_slice_without_windows_says_nothing(baseline: Baseline, simulated: SimulatedHost) -> None:
    found = parts(during(simulated, JOB))
    found[2] = select_rows(found[2], slice(0, 0))
    assert not is_new_regime(baseline, found)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("allocation_stalls_per_s", True),
        ("compaction_stalls_per_s", True),
        ("direct_reclaimed_pages_per_s", True),
        ("reclaim_throttles_per_s", True),
        ("zone_reclaim_failures_per_s", True),
        ("softnet_dropped_packets_per_s", True),
        ("memory_corrected_errors_per_s", True),
        ("stalled_cycles_per_s", False),
        ("memory_stalled_cycles_per_s", False),
        ("slab_reclaimable_bytes", False),
        ("background_reclaimed_pages_per_s", False),
        ("missing_gpus", True),
        ("rdma_rx_discards_per_s", True),
        ("rdma_link_downs_per_s", True),
        ("discards_per_s", False),
        ("tlb_shootdowns_per_s", False),
        ("busy_percent", False),
    ],
)
def test_what_harms_is_told_by_its_name(metric: str, *, expected: bool) -> None:
    channel = Channel("h", "memory", "host", metric, "gauge", "1/s", 0.1, "simulated")
    assert harms(channel, 9.0) == expected
    assert not harms(channel, -9.0)
