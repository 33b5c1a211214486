"""Captured files of which every value is checked against the file itself, read by hand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from ingest.collectors.cpu import LoadCollector
from ingest.collectors.hugepages import HugepagesCollector
from ingest.collectors.network import NetworkCollector
from ingest.collectors.numa import NumaCollector
from ingest.collectors.pressure import PressureCollector
from ingest.collectors.schedstat import SchedstatCollector
from ingest.collectors.softirqs import SoftirqsCollector
from ingest.collectors.softnet import SoftnetCollector
from tests.unit.collectors.trees import Trees, read

_NOTHING_ELSE = dict.fromkeys(
    (
        "rx_error_packets_per_s", "rx_dropped_packets_per_s", "rx_overrun_packets_per_s", "rx_frame_error_packets_per_s",
        "rx_multicast_packets_per_s", "tx_error_packets_per_s", "tx_dropped_packets_per_s", "tx_underrun_packets_per_s",
        "tx_collisions_per_s", "tx_carrier_errors_per_s",
    ),
    0,
)  # fmt: skip


def of(prefix: str, values: Mapping[str, float]) -> dict[str, float]:
    return {f"{prefix} {name}": value for name, value in values.items()}


def test_network(trees: Trees) -> None:
    received_and_sent = {
        "eth0": (874_354_587, 1_036_395, 563_352_563, 732_147),
        "docker0": (2568, 38, 438, 5),
    }
    expected: dict[str, float] = {}
    for name, (rx_bytes, rx_packets, tx_bytes, tx_packets) in received_and_sent.items():
        expected |= of(f"network {name}", _NOTHING_ELSE)
        expected |= {
            f"network {name} rx_bytes_per_s": rx_bytes,
            f"network {name} rx_packets_per_s": rx_packets,
        }
        expected |= {
            f"network {name} tx_bytes_per_s": tx_bytes,
            f"network {name} tx_packets_per_s": tx_packets,
        }
    assert read(NetworkCollector(), trees.prometheus) == expected


def test_schedstat(trees: Trees) -> None:
    assert read(SchedstatCollector(), trees.prometheus) == pytest.approx({
        "cpu host run_queue_waiting_tasks": 343_796.328169361 + 364_107.263788241,
        "cpu host timeslices_per_s": 4_767_485_306 + 5_145_567_945,
        "cpu cpu0 run_queue_waiting_tasks": 343_796.328169361,
        "cpu cpu1 run_queue_waiting_tasks": 364_107.263788241,
        "cpu cpu0 timeslices_per_s": 4_767_485_306,
        "cpu cpu1 timeslices_per_s": 5_145_567_945,
    })  # fmt: skip


def test_pressure_in_microseconds_of_a_second(trees: Trees) -> None:
    assert read(PressureCollector(), trees.prometheus) == pytest.approx({
        "cpu host pressure_some_percent": 15 / 1e6 * 100,
        "memory host pressure_some_percent": 15 / 1e6 * 100,
        "memory host pressure_full_percent": 25 / 1e6 * 100,
        "storage host pressure_some_percent": 15 / 1e6 * 100,
        "storage host pressure_full_percent": 25 / 1e6 * 100,
    })  # fmt: skip


def test_load(trees: Trees) -> None:
    assert read(LoadCollector(), trees.prometheus) == {
        "cpu host load_1m": 0.02,
        "cpu host load_5m": 0.04,
        "cpu host load_15m": 0.05,
        "cpu host tasks": 497,
    }


def test_softnet_in_hexadecimal(trees: Trees) -> None:
    """Lines of 13, 13, 11, 9 and 10 columns: of packets steered, only some CPUs say how many."""
    got = read(SoftnetCollector(), trees.prometheus)
    rows = {
        "processed_packets": (0x358FE3, 0x953D1A, 0x15C73, 0x1663FB2, 0x8E78),
        "dropped_packets": (0x6283, 0x446, 0x20E76, 0, 1),
        "squeezes": (0, 0xB1, 0xF0000769, 0x109A4, 0x11),
    }
    for name, counts in rows.items():
        assert got[f"network host softnet_{name}_per_s"] == sum(counts)
        for cpu, count in enumerate(counts):
            assert got[f"network cpu{cpu} softnet_{name}_per_s"] == count
    assert np.isnan(got["network host softnet_steered_packets_per_s"])


def test_huge_pages(trees: Trees) -> None:
    pools = {64: (0, 0, 0, 0), 2048: (2000, 2000, 4, 8), 32_768: (0, 0, 0, 0), 1_048_576: (100, 100, 0, 0)}
    expected: dict[str, float] = {}
    for size, (pages, free, surplus, reserved) in pools.items():
        counts = {"huge_pages": pages, "free_huge_pages": free, "surplus_huge_pages": surplus}
        expected |= of(f"memory node0-hugepages-{size}kB", counts)
        expected |= of(f"memory hugepages-{size}kB", counts | {"reserved_huge_pages": reserved})
    assert read(HugepagesCollector(), trees.tar("hugepages-4sizes")) == expected


def test_numa_allocations(trees: Trees) -> None:
    got = read(NumaCollector(), trees.tar("numa-2node-foreign"))
    rows = {
        "memory {} numa_hit_pages_per_s": (2_917_402, 1_993_686),
        "interconnect {} numa_miss_pages_per_s": (0, 489_923),
        "interconnect {} numa_foreign_pages_per_s": (489_923, 0),
        "memory {} numa_interleave_hit_pages_per_s": (1096, 1084),
        "memory {} numa_local_pages_per_s": (2_916_555, 1_991_377),
        "interconnect {} numa_other_node_pages_per_s": (847, 492_232),
    }
    for name, nodes in rows.items():
        assert tuple(got[name.format(f"node{node}")] for node in (0, 1)) == nodes


def test_soft_interrupts_of_the_first_and_the_last_cpu(trees: Trees) -> None:
    got = read(SoftirqsCollector(), trees.dual_xeon)
    rows = {"net_tx": (36_507, 842_350), "net_rx": (21_436_449, 18_697_200), "block": (0, 40)}
    for name, cpus in rows.items():
        assert tuple(got[f"cpu {cpu} {name}_softirqs_per_s"] for cpu in ("cpu0", "cpu39")) == cpus
    first = (4, 77_050_311, 36_507, 21_436_449, 0, 0, 9520, 190_324_523, 1107, 98_692_402)
    last = (0, 14_667_968, 842_350, 18_697_200, 40, 0, 0, 23_997_992, 3, 51_247_627)
    assert got["cpu cpu0 softirqs_per_s"] == sum(first)
    assert got["cpu cpu39 softirqs_per_s"] == sum(last)
