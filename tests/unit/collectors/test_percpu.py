"""Files that count for each CPU: softirqs, softnet_stat, schedstat."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from hostsight.errors import NoDataError
from ingest.collector import Host
from ingest.collectors.schedstat import SchedstatCollector
from ingest.collectors.softirqs import SoftirqsCollector
from ingest.collectors.softnet import SoftnetCollector
from tests.unit.collectors.trees import Trees, read, write


@pytest.fixture(scope="module")
def server(trees: Trees) -> dict[str, float]:
    return read(SoftirqsCollector(), trees.dual_xeon)


class TestSoftirqs:
    def test_types_of_a_host(self, server: dict[str, float]) -> None:
        assert server["cpu host net_rx_softirqs_per_s"] == 902_122_212
        assert server["cpu host net_tx_softirqs_per_s"] == 38_887_953
        assert server["cpu host block_softirqs_per_s"] == 704
        assert server["cpu host timer_softirqs_per_s"] == 566_842_681
        assert server["cpu host tasklet_softirqs_per_s"] == 1_675_732
        assert server["cpu host sched_softirqs_per_s"] == 1_403_164_366
        assert server["cpu host hrtimer_softirqs_per_s"] == 68_489
        assert server["cpu host irq_poll_softirqs_per_s"] == 0
        assert server["cpu host high_priority_softirqs_per_s"] == 4

    def test_cpus(self, server: dict[str, float]) -> None:
        assert server["cpu cpu0 net_rx_softirqs_per_s"] == 21_436_449
        assert server["cpu cpu39 net_rx_softirqs_per_s"] == 18_697_200
        assert server["cpu cpu39 net_tx_softirqs_per_s"] == 842_350
        assert server["cpu cpu39 block_softirqs_per_s"] == 40
        total = 4 + 77_050_311 + 36_507 + 21_436_449 + 9_520 + 190_324_523 + 1_107 + 98_692_402
        assert server["cpu cpu0 softirqs_per_s"] == total

    def test_nodes_are_sums_of_their_cpus(self, server: dict[str, float]) -> None:
        of_node0 = [*range(10), *range(20, 30)]
        cpus = sum(server[f"cpu cpu{cpu} net_rx_softirqs_per_s"] for cpu in of_node0)
        assert server["cpu node0 net_rx_softirqs_per_s"] == cpus
        assert (
            server["cpu node0 net_rx_softirqs_per_s"] + server["cpu node1 net_rx_softirqs_per_s"]
            == 902_122_212
        )

    def test_1152_cpus(self, trees: Trees) -> None:
        got = read(SoftirqsCollector(), trees.largest())
        assert got["cpu host net_rx_softirqs_per_s"] == 6_892
        assert got["cpu host timer_softirqs_per_s"] == 55_160_913
        assert not any(" cpu1 " in key for key in got)

    def test_an_unknown_type_counts_in_the_total_only(self, tmp_path: Path) -> None:
        write(tmp_path, {"proc/softirqs": "   CPU0 CPU2\n  NET_RX: 1 2\n  NEW: 10 20\n"})
        got = read(SoftirqsCollector(), tmp_path)
        assert got["cpu cpu2 softirqs_per_s"] == 22
        assert "cpu host block_softirqs_per_s" not in got


class TestSoftnet:
    def test_a_server(self, trees: Trees) -> None:
        got = read(SoftnetCollector(), trees.dual_xeon)
        assert got["network host softnet_processed_packets_per_s"] == 409_767_704
        assert got["network host softnet_squeezes_per_s"] == 12
        assert got["network host softnet_dropped_packets_per_s"] == 0
        assert got["network cpu0 softnet_processed_packets_per_s"] == 0x017EABEF
        assert got["network cpu39 softnet_processed_packets_per_s"] == 0x0010C769
        assert got["network node0 softnet_processed_packets_per_s"] == 290_296_396

    def test_480_cpus_of_an_old_kernel(self, trees: Trees) -> None:
        got = read(SoftnetCollector(), trees.tar("xeon-e7-480cpu"))
        assert got == {
            "network host softnet_processed_packets_per_s": 95_095,
            "network host softnet_dropped_packets_per_s": 0,
            "network host softnet_squeezes_per_s": 1,
            "network host softnet_steered_packets_per_s": 0,
        }

    def test_a_line_names_its_cpu(self, tmp_path: Path) -> None:
        fields = "0000000a 00000002 00000001 " + "00000000 " * 6 + "00000007 00000000 00000003 "
        write(tmp_path, {"proc/net/softnet_stat": f"{fields}00000000\n{fields}00000005\n"})
        got = read(SoftnetCollector(), tmp_path)
        assert got["network cpu5 softnet_dropped_packets_per_s"] == 2
        assert got["network host softnet_backlog_packets"] == 6
        assert "network cpu1 softnet_dropped_packets_per_s" not in got

    def test_lines_of_different_length(self, trees: Trees) -> None:
        got = read(SoftnetCollector(), trees.prometheus)
        assert got["network cpu1 softnet_processed_packets_per_s"] == 0x00953D1A
        assert got["network cpu2 softnet_dropped_packets_per_s"] == 0x20E76
        assert math.isnan(got["network host softnet_steered_packets_per_s"])


class TestSchedstat:
    def test_earlier_versions_have_other_fields_in_these_places(self, tmp_path: Path) -> None:
        write(tmp_path, {"proc/schedstat": "version 12\ntimestamp 1\ncpu0 1 2 3 4 5 6 7 8 9 10 11 12\n"})
        with pytest.raises(NoDataError, match="/proc/schedstat"):
            SchedstatCollector().open(Host(tmp_path))

    def test_seconds_waited_per_second_are_waiting_tasks(self, trees: Trees) -> None:
        got = read(SchedstatCollector(), trees.prometheus)
        assert got["cpu cpu0 run_queue_waiting_tasks"] == pytest.approx(343_796.328169361)
        assert got["cpu cpu1 run_queue_waiting_tasks"] == pytest.approx(364_107.263788241)
        assert got["cpu host run_queue_waiting_tasks"] == pytest.approx(707_903.591957602)
        assert got["cpu cpu0 timeslices_per_s"] == 4_767_485_306
        assert got["cpu host timeslices_per_s"] == 4_767_485_306 + 5_145_567_945

    def test_where_the_kernel_lacks_it_the_remedy_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(NoDataError) as caught:
            SchedstatCollector().open(Host(tmp_path))
        assert caught.value.reason == "not supported"
        assert "CONFIG_SCHEDSTATS" in caught.value.remedy


def test_another_set_of_cpus_asks_for_a_new_layout(tmp_path: Path) -> None:
    write(tmp_path, {"proc/softirqs": "CPU0 CPU1\nNET_RX: 1 2\n"})
    collector = SoftirqsCollector()
    slots = collector.open(Host(tmp_path))
    write(tmp_path, {"proc/softirqs": "CPU0\nNET_RX: 1\n"})
    assert collector.read(np.empty(len(slots))) is False


def test_text_that_is_no_count_costs_its_sums_only(tmp_path: Path) -> None:
    write(tmp_path, {"proc/softirqs": "CPU0 CPU1\nNET_RX: 1 x\nBLOCK: 5 6\n"})
    got = read(SoftirqsCollector(), tmp_path)
    assert math.isnan(got["cpu host net_rx_softirqs_per_s"])
    assert got["cpu cpu0 net_rx_softirqs_per_s"] == 1
    assert got["cpu host block_softirqs_per_s"] == 11
