"""Each derived metric on a small table, worked out by hand; and its header against what the collectors give."""

from __future__ import annotations

from typing import cast

import pyarrow as pa
import pytest

from hostsight.channel import WHOLE_HOST, Channel, Subsystem
from hostsight.clock import SECOND_NS
from hostsight.settings import WindowSettings
from ingest.registry import collectors
from sql.derivation import catalogue, parse
from sql.features import FeatureBuilder
from sql.schemas import PANES

START = 1_700_000_000 * SECOND_NS
SUBSYSTEM = {metric: cast(Subsystem, name) for derived in catalogue() for name, metric in derived.inputs}
Inputs = dict[tuple[str, str], float]
"""(device, metric) -> mean in the pane"""
H = WHOLE_HOST

GOLDEN: list[tuple[str, Inputs, dict[str, float]]] = [
    ("busy_spread_percent",
     {("cpu0", "busy_percent"): 95, ("cpu1", "busy_percent"): 5, ("cpu2", "busy_percent"): 20, (H, "busy_percent"): 40},
     {H: 55}),
    ("interrupt_imbalance_ratio", {("cpu0", "interrupts_per_s"): 300, ("cpu1", "interrupts_per_s"): 100}, {H: 0.5}),
    ("interrupt_imbalance_ratio", {("cpu0", "interrupts_per_s"): 30, ("cpu1", "interrupts_per_s"): 10}, {}),
    ("busiest_interrupt_cpu_percent",
     {("cpu0", "interrupts_per_s"): 300, ("cpu1", "interrupts_per_s"): 100, ("eth0-rx", "interrupts_per_s"): 900},
     {H: 75}),
    ("softirq_imbalance_ratio", {("cpu0", "softirqs_per_s"): 100, ("cpu1", "softirqs_per_s"): 100}, {H: 0}),
    ("busiest_softirq_cpu_percent", {("cpu0", "softirqs_per_s"): 100, ("cpu1", "softirqs_per_s"): 300}, {H: 75}),
    ("busiest_net_rx_cpu_percent",
     {("cpu0", "net_rx_softirqs_per_s"): 990, ("cpu1", "net_rx_softirqs_per_s"): 10, (H, "net_rx_softirqs_per_s"): 1000},
     {H: 99}),
    ("used_percent", {(H, "total_bytes"): 64e9, (H, "available_bytes"): 48e9, ("node0", "total_bytes"): 64e9}, {H: 25}),
    ("node_used_percent", {("node1", "total_bytes"): 32e9, ("node1", "used_bytes"): 8e9}, {"node1": 25}),
    ("dirty_percent", {(H, "total_bytes"): 100e9, (H, "dirty_bytes"): 3e9, (H, "writeback_bytes"): 1e9}, {H: 4}),
    ("dirty_limit_used_percent",
     {(H, "dirty_bytes"): 3e9, (H, "writeback_bytes"): 1e9, (H, "dirty_limit_bytes"): 5e9}, {H: 80}),
    ("swap_used_percent", {(H, "swap_total_bytes"): 8e9, (H, "swap_free_bytes"): 6e9}, {H: 25}),
    ("swap_used_percent", {(H, "swap_total_bytes"): 0, (H, "swap_free_bytes"): 0}, {}),
    ("huge_page_coverage_percent", {(H, "anonymous_bytes"): 10e9, (H, "anonymous_huge_bytes"): 9e9}, {H: 90}),
    ("huge_page_pool_used_percent",
     {("hugepages-2048kB", "huge_pages"): 1024, ("hugepages-2048kB", "free_huge_pages"): 256,
      ("hugepages-1048576kB", "huge_pages"): 0, ("hugepages-1048576kB", "free_huge_pages"): 0},
     {"hugepages-2048kB": 75}),
    ("reclaim_efficiency_percent",
     {(H, "background_scanned_pages_per_s"): 3000, (H, "direct_scanned_pages_per_s"): 1000,
      (H, "background_reclaimed_pages_per_s"): 900, (H, "direct_reclaimed_pages_per_s"): 100},
     {H: 25}),
    ("numa_hint_local_percent", {(H, "numa_hint_faults_per_s"): 400, (H, "numa_hint_faults_local_per_s"): 100}, {H: 25}),
    ("numa_remote_percent",
     {("node0", "numa_local_pages_per_s"): 900, ("node0", "numa_other_node_pages_per_s"): 100,
      ("node1", "numa_local_pages_per_s"): 9, ("node1", "numa_other_node_pages_per_s"): 1},
     {"node0": 10}),
    ("numa_miss_percent", {("node0", "numa_hit_pages_per_s"): 600, ("node0", "numa_miss_pages_per_s"): 200}, {"node0": 25}),
    ("tcp_retransmitted_percent",
     {(H, "tcp_tx_segments_per_s"): 99, (H, "tcp_retransmitted_segments_per_s"): 1}, {H: 1}),
    ("tcp_retransmitted_percent", {(H, "tcp_tx_segments_per_s"): 2, (H, "tcp_retransmitted_segments_per_s"): 1}, {}),
    ("rx_dropped_percent", {("eth0", "rx_packets_per_s"): 950, ("eth0", "rx_dropped_packets_per_s"): 50}, {"eth0": 5}),
    ("tx_dropped_percent", {("eth0", "tx_packets_per_s"): 980, ("eth0", "tx_dropped_packets_per_s"): 20}, {"eth0": 2}),
    ("softnet_dropped_percent",
     {("cpu0", "softnet_processed_packets_per_s"): 300, ("cpu0", "softnet_dropped_packets_per_s"): 100,
      (H, "softnet_processed_packets_per_s"): 900, (H, "softnet_dropped_packets_per_s"): 100},
     {"cpu0": 25, H: 10}),
    ("link_used_percent",
     {("eth0", "rx_bytes_per_s"): 1e8, ("eth0", "tx_bytes_per_s"): 5e8, ("eth0", "link_speed_bytes_per_s"): 1.25e9},
     {"eth0": 40}),
    ("ipc", {("cpu3", "instructions_per_s"): 3e9, ("cpu3", "cycles_per_s"): 2e9}, {"cpu3": 1.5}),
    ("ipc", {("cpu3", "instructions_per_s"): 3e6, ("cpu3", "cycles_per_s"): 2e6}, {}),
    ("branch_missed_percent", {(H, "branches_per_s"): 5e8, (H, "branch_misses_per_s"): 1e7}, {H: 2}),
    ("cache_missed_percent", {(H, "cache_references_per_s"): 4e7, (H, "cache_misses_per_s"): 1e7}, {H: 25}),
    ("stalled_percent", {("cpu0", "cycles_per_s"): 3e9, ("cpu0", "stalled_cycles_per_s"): 1.2e9}, {"cpu0": 40}),
    ("frontend_stalled_percent",
     {("cpu0", "cycles_per_s"): 3e9, ("cpu0", "frontend_stalled_cycles_per_s"): 3e8}, {"cpu0": 10}),
    ("memory_stalled_percent",
     {("cpu0", "cycles_per_s"): 3e9, ("cpu0", "memory_stalled_cycles_per_s"): 9e8}, {"cpu0": 30}),
    ("dtlb_walks_per_kilo_instructions",
     {("node1", "instructions_per_s"): 2e9, ("node1", "dtlb_walks_per_s"): 5e6}, {"node1": 2.5}),
    ("read_await_seconds", {("sda", "reads_per_s"): 200, ("sda", "read_time_seconds_per_s"): 1}, {"sda": 0.005}),
    ("read_await_seconds", {("sda", "reads_per_s"): 0, ("sda", "read_time_seconds_per_s"): 0}, {}),
    ("write_await_seconds", {("sda", "writes_per_s"): 10, ("sda", "write_time_seconds_per_s"): 3}, {"sda": 0.3}),
    ("flush_await_seconds", {("sda", "flushes_per_s"): 5, ("sda", "flush_time_seconds_per_s"): 0.1}, {"sda": 0.02}),
    ("read_request_bytes", {("sda", "reads_per_s"): 10, ("sda", "read_bytes_per_s"): 40960}, {"sda": 4096}),
    ("write_request_bytes", {("sda", "writes_per_s"): 2, ("sda", "write_bytes_per_s"): 2e6}, {"sda": 1e6}),
]  # fmt: skip


def channel(device: str, metric: str) -> Channel:
    return Channel("gpu01", SUBSYSTEM[metric], device, metric, "gauge", "1", 0.1, "/proc")


def panes(inputs: Inputs) -> pa.Table:
    """One pane of ten samples for each input."""
    rows = [
        {
            "pane": START, "channel_id": channel(*key).id, "n": 10, "sum": 10 * value, "m2": 0.0, "min": value,
            "max": value, "first": value, "last": value, "wsum": value, "dt": 1.0,
        }
        for key, value in inputs.items()
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=PANES)


def derive(metric: str, inputs: Inputs) -> dict[str, float]:
    """Device -> value of one derived metric."""
    builder = FeatureBuilder(WindowSettings(), [channel(*key) for key in inputs])
    targets = {target.id: target for target in builder.derived_channels}
    table = builder.derive(panes(inputs))
    builder.close()
    found = [(targets[row["channel_id"]], row["sum"]) for row in table.to_pylist()]
    return {target.device: value for target, value in found if target.metric == metric}


@pytest.mark.parametrize(("metric", "inputs", "expected"), GOLDEN)
def test_a_derived_metric_follows_its_formula(
    metric: str, inputs: Inputs, expected: dict[str, float]
) -> None:
    assert derive(metric, inputs) == pytest.approx(expected)


@pytest.mark.parametrize("device", ["eth\udcff", "it's", '"; DROP TABLE x', "[*?]", ""])
def test_any_device_name_is_derived_for(device: str) -> None:
    inputs = {(device, "rx_packets_per_s"): 950.0, (device, "rx_dropped_packets_per_s"): 50.0}
    assert derive("rx_dropped_percent", inputs) == {device: 5}


def test_every_derived_metric_has_a_golden_value() -> None:
    assert {metric for metric, _, expected in GOLDEN if expected} == {
        derived.metric for derived in catalogue()
    }


@pytest.mark.parametrize(("metric", "inputs", "expected"), [row for row in GOLDEN if row[2]])
def test_nothing_is_made_up_from_half_the_inputs(
    metric: str, inputs: Inputs, expected: dict[str, float]
) -> None:
    assert expected
    for absent in {name for _, name in inputs}:
        rest = {key: value for key, value in inputs.items() if key[1] != absent}
        builder = FeatureBuilder(WindowSettings(), [channel(*key) for key in inputs])
        table = builder.derive(panes(rest)) if rest else PANES.empty_table()
        ids = {target.id for target in builder.derived_channels if target.metric == metric}
        builder.close()
        assert ids.isdisjoint(table["channel_id"].to_pylist())


def test_inputs_are_metrics_that_a_collector_gives() -> None:
    given = {metric.name for collector in collectors() for metric in collector.metrics}
    assert set(SUBSYSTEM) <= given


def test_no_derived_metric_takes_the_name_of_a_collected_one() -> None:
    given = {metric.name for collector in collectors() for metric in collector.metrics}
    assert given.isdisjoint(derived.metric for derived in catalogue())


def test_an_input_s_name_means_one_thing() -> None:
    inputs = {pair for derived in catalogue() for pair in derived.inputs}
    assert len(inputs) == len({metric for _, metric in inputs})


def test_units_end_the_names_of_derived_metrics() -> None:
    endings: dict[str, str | tuple[str, ...]] = {
        "%": "_percent",
        "ratio": ("_ratio", "ipc"),
        "s": "_seconds",
        "B": "_bytes",
        "1": "",
    }
    for derived in catalogue():
        assert derived.metric.endswith(endings[derived.unit])


@pytest.mark.parametrize(
    "text",
    [
        "-- No header.\n1",
        "-- X.\n--\n-- subsystem  disk\n-- grain  host\n-- unit  %\n-- inputs  a.b\n-- formula  b\nb",
        "-- X.\n--\n-- subsystem  cpu\n-- grain  rack\n-- unit  %\n-- inputs  cpu.b\n-- formula  b\nb",
        "-- X.\n--\n-- subsystem  cpu\n-- grain  host\n-- unit  %\n-- inputs  cpu.b; DROP\n-- formula  b\nb",
    ],
)
def test_a_file_with_a_wrong_header_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"sql/derived/odd_percent\.sql"):
        parse("odd_percent", text)
