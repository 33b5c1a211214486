"""Interrupts by device, CPU and node."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hostsight.errors import NoDataError
from ingest.collector import Host, Tier, tier_on
from ingest.collectors.interrupts import InterruptsCollector
from tests.unit.collectors.trees import Trees, read, write

HEADER = "            CPU0       CPU1       \n"
ETH0 = " 24:         10         20  PCI-MSIX-0000:00:03.0   1-edge      eth0-TxRx-0\n"
DISK = " 25:          0          0  PCI-MSIX-0000:00:04.0   1-edge      nvme0q1\n"
TIMER = "LOC:       1000       2000   Local timer interrupts\n"
ERR = "ERR:          3\n"


@pytest.fixture(scope="module")
def server(trees: Trees) -> dict[str, float]:
    return read(InterruptsCollector(), trees.dual_xeon)


@pytest.mark.parametrize(
    ("device", "total", "own_node"),
    [
        ("eno1", 335_753_622, 335_752_802),
        ("eno2", 227_761_920, 227_761_100),
        ("eno3", 227_764_645, 227_763_825),
        ("eno4", 227_761_920, 227_761_100),
        ("megasas0", 11_745_015, 6_761_932),
        ("mlx4", 12_561_447, 12_561_447),
    ],
)
def test_devices_sum_their_queues_and_know_their_own_node(
    server: dict[str, float], device: str, total: float, own_node: float
) -> None:
    assert server[f"cpu {device} interrupts_per_s"] == total
    assert server[f"cpu {device} own_node_interrupts_per_s"] == own_node


def test_kinds_are_sums_over_cpus(server: dict[str, float]) -> None:
    assert server["cpu host rescheduling_interrupts_per_s"] == 58_145_115
    assert server["cpu host function_call_interrupts_per_s"] == 413_330_631
    assert server["cpu host tlb_shootdowns_per_s"] == 147_231_261
    assert server["cpu host non_maskable_interrupts_per_s"] == 175_474
    assert server["cpu host machine_check_polls_per_s"] == 1_423_559


def test_cpus_and_nodes_take_all_rows(server: dict[str, float]) -> None:
    assert server["cpu cpu0 interrupts_per_s"] == 280_134_314
    assert server["cpu cpu39 interrupts_per_s"] == 129_095_272
    cpus = sum(server[f"cpu cpu{cpu} interrupts_per_s"] for cpu in range(40))
    assert server["cpu node0 interrupts_per_s"] + server["cpu node1 interrupts_per_s"] == cpus


def test_devices_that_never_interrupted_are_left_out(server: dict[str, float]) -> None:
    assert "cpu dmar0 interrupts_per_s" not in server
    assert server["cpu ioat@0000:80:04.7 interrupts_per_s"] == 2


def test_a_host_with_many_cpus_shows_its_nodes_only(trees: Trees) -> None:
    got = read(InterruptsCollector(), trees.dual_xeon, per_cpu=39)
    assert "cpu cpu0 interrupts_per_s" not in got
    assert "cpu node1 interrupts_per_s" in got


def test_the_busiest_devices_are_kept_at_the_limit(trees: Trees) -> None:
    got = read(InterruptsCollector(), trees.dual_xeon, devices=2)
    assert {key for key in got if "own_node" in key} == {
        "cpu eno1 own_node_interrupts_per_s",
        "cpu eno3 own_node_interrupts_per_s",
    }


def test_1152_cpus(trees: Trees) -> None:
    got = read(InterruptsCollector(), trees.largest())
    assert got["cpu smartpqi interrupts_per_s"] == 69_880
    assert got["cpu i40e-eth0 interrupts_per_s"] == 1_596_712
    assert got["cpu host local_timer_interrupts_per_s"] == 509_807_994


def test_blank_lines_and_handlers_with_an_address(trees: Trees) -> None:
    got = read(InterruptsCollector(), trees.prometheus)
    assert got["cpu ahci interrupts_per_s"] == 1362 + 934
    assert got["cpu virtio5 interrupts_per_s"] == 1800 + 1469 + 2654 + 1989
    assert got["cpu cpu3 interrupts_per_s"] == 9 + 5 + 1989 + 934 + 318 + 8229 + 6 + 12_675 + 2367 + 231 + 1


class TestChanges:
    @pytest.fixture
    def tree(self, tmp_path: Path) -> Path:
        return write(tmp_path, {"proc/interrupts": HEADER + ETH0 + DISK + TIMER + ERR})

    @pytest.fixture
    def collector(self, tree: Path) -> InterruptsCollector:
        collector = InterruptsCollector()
        self.slots = collector.open(Host(tree))
        return collector

    def values(self, collector: InterruptsCollector) -> dict[str, float] | None:
        out = np.full(len(self.slots), np.nan)
        if not collector.read(out):
            return None
        return {
            f"{slot.device} {slot.metric.name}": value for slot, value in zip(self.slots, out, strict=True)
        }

    def test_only_the_row_that_changed_moves(self, tree: Path, collector: InterruptsCollector) -> None:
        write(tree, {"proc/interrupts": HEADER + ETH0.replace("20", "25") + DISK + TIMER + ERR})
        assert self.values(collector) == {
            "eth0 interrupts_per_s": 35,
            "host local_timer_interrupts_per_s": 3000,
            "host interrupt_errors_per_s": 3,
            "cpu0 interrupts_per_s": 1010,
            "cpu1 interrupts_per_s": 2025,
        }

    def test_a_quiet_device_that_begins_asks_for_a_new_layout(
        self, tree: Path, collector: InterruptsCollector
    ) -> None:
        write(tree, {"proc/interrupts": HEADER + ETH0 + DISK.replace(" 0  PCI", " 7  PCI") + TIMER + ERR})
        assert self.values(collector) is None

    @pytest.mark.parametrize(
        "content",
        [
            HEADER + TIMER + ERR,
            HEADER.replace("CPU1", "CPU3") + ETH0 + DISK + TIMER + ERR,
            HEADER + ETH0 + DISK + TIMER + ERR + TIMER,
            HEADER + ETH0.replace("eth0", "eth1") + DISK + TIMER + ERR,
        ],
        ids=["row gone", "other CPUs", "row added", "number reused"],
    )
    def test_hotplug_asks_for_a_new_layout(
        self, tree: Path, collector: InterruptsCollector, content: str
    ) -> None:
        write(tree, {"proc/interrupts": content})
        assert self.values(collector) is None

    def test_a_count_that_is_no_number_costs_its_sums_only(
        self, tree: Path, collector: InterruptsCollector
    ) -> None:
        write(tree, {"proc/interrupts": HEADER + ETH0.replace("20", "xx") + DISK + TIMER + ERR})
        values = self.values(collector)
        assert values is not None
        assert np.isnan(values["eth0 interrupts_per_s"])
        assert values["host local_timer_interrupts_per_s"] == 3000


def test_it_is_read_more_often_where_that_is_cheap(trees: Trees) -> None:
    collector = InterruptsCollector()
    assert tier_on(collector, Host(trees.prometheus)) is Tier.MEDIUM
    assert tier_on(collector, Host(trees.dual_xeon)) is Tier.SLOW


def test_without_the_file_there_is_no_data(tmp_path: Path) -> None:
    with pytest.raises(NoDataError, match="/proc/interrupts cannot be read"):
        InterruptsCollector().open(Host(tmp_path))


def test_devices_over_the_limit_are_told(tmp_path: Path) -> None:
    rows = "".join(f" {at}: 1 2 PCI-MSI {at}-edge dev{at}x\n" for at in range(20, 25))
    quiet = " 30: 0 0 PCI-MSI 30-edge idle\n"
    collector = InterruptsCollector()
    collector.open(Host(write(tmp_path, {"proc/interrupts": HEADER + rows + quiet}), device_limit=2))
    assert collector.absent() == [("3 more of interrupts", "over the limit", "raise [agent] device_limit")]
    collector.open(Host(tmp_path, device_limit=5))
    assert list(collector.absent()) == []


def test_kinds_of_ibm_z_are_counted_once(tmp_path: Path) -> None:
    """EXT, I/O and AIO are the sums of the kinds that name them."""
    rows = "EXT: 5 7\nI/O: 3 4\nCLK: 4 6 [EXT] Clock Comparator\nCIO: 3 4 [I/O] Common I/O Layer Interrupt\n"
    values = read(
        InterruptsCollector(),
        write(tmp_path, {"proc/interrupts": HEADER + rows + "NMI: 1 0 [NMI] Machine Check\n"}),
    )
    assert values["cpu cpu0 interrupts_per_s"] == 5 + 3 + 1
    assert values["cpu cpu1 interrupts_per_s"] == 7 + 4


def test_kinds_of_power_and_arm(tmp_path: Path) -> None:
    rows = (
        "LOC: 5 7 Local timer interrupts for timer event device\n"
        "LOC: 100 200 Local timer interrupts for others\nErr: 3\n"
    )
    values = read(InterruptsCollector(), write(tmp_path, {"proc/interrupts": HEADER + rows}))
    assert values["cpu host local_timer_interrupts_per_s"] == 5 + 7
    assert values["cpu host interrupt_errors_per_s"] == 3
    assert values["cpu cpu1 interrupts_per_s"] == 7 + 200


@pytest.mark.parametrize("content", [b"\0" * (2**20 + 1), HEADER.encode() + b"\n" * (2**16 + 1)])
def test_what_has_no_end_is_not_read_to_it(tmp_path: Path, content: bytes) -> None:
    root = write(tmp_path, {"proc/interrupts": content})
    with pytest.raises(NoDataError, match="/proc/interrupts cannot be read"):
        InterruptsCollector().open(Host(root))
