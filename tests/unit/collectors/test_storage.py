"""Block devices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ingest.collector import Host
from ingest.collectors.storage import StorageCollector, is_partition
from tests.unit.collectors.trees import Trees, read, write

SDA = "   8  0 sda 10 1 80 5 20 2 160 7 0 9 12\n"
SDA1 = "   8  1 sda1 10 1 80 5 20 2 160 7 0 9 12\n"
ZRAM = " 253  0 zram0 0 0 0 0 0 0 0 0 0 0 0\n"


def test_a_server_disk(trees: Trees) -> None:
    got = read(StorageCollector(), trees.dual_xeon)
    expected = {
        "reads_per_s": 468_523,
        "read_merges_per_s": 645,
        "read_bytes_per_s": 24_214_945 * 512,
        "read_time_seconds_per_s": 4_707.430,
        "writes_per_s": 12_468_234,
        "write_merges_per_s": 2_616_866,
        "write_bytes_per_s": 1_755_575_097 * 512,
        "write_time_seconds_per_s": 214_232.524,
        "in_flight_requests": 0,
        "busy_percent": 547_365.4,
        "queue_depth_requests": 218_939.955,
        "discards_per_s": 0,
    }
    assert {name: got[f"storage sda {name}"] for name in expected} == pytest.approx(expected, rel=1e-12)


def test_busy_all_the_time_is_100_percent(tmp_path: Path) -> None:
    write(tmp_path, {"proc/diskstats": "8 0 sda 0 0 0 0 0 0 0 0 0 1000 32000\n"})
    got = read(StorageCollector(), tmp_path)
    assert got["storage sda busy_percent"] == 100
    assert got["storage sda queue_depth_requests"] == 32


def test_partitions_are_left_out(trees: Trees) -> None:
    server = {key.split()[1] for key in read(StorageCollector(), trees.dual_xeon)}
    assert server == {"sda", "sdb", "sdc", "dm-0", "dm-1", "dm-2"}
    mixed = {key.split()[1] for key in read(StorageCollector(), trees.prometheus)}
    disks = {"sda", "sdb", "sdc", "mmcblk0", "fd0", "vda", "nvme0n1", *(f"dm-{at}" for at in range(6))}
    assert mixed == disks


def test_columns_that_an_older_kernel_lacks_are_left_out(trees: Trees) -> None:
    got = read(StorageCollector(), trees.prometheus)
    assert "storage sda discards_per_s" not in got
    assert got["storage sdb discard_bytes_per_s"] == 1_925_173_784 * 512
    assert "storage sdb flushes_per_s" not in got
    assert got["storage sdc flushes_per_s"] == 127
    assert got["storage sdc flush_time_seconds_per_s"] == pytest.approx(0.182)


def test_the_busiest_are_kept_at_the_limit(trees: Trees) -> None:
    everything = read(StorageCollector(), trees.tar("xeon-e7-480cpu"), devices=1000)
    assert len({key.split()[1] for key in everything}) == 83
    assert everything["storage sdb reads_per_s"] == 25_964
    few = read(StorageCollector(), trees.tar("xeon-e7-480cpu"), devices=3)
    assert {key.split()[1] for key in few} == {"dm-0", "dm-3", "dm-10"}


@pytest.mark.parametrize(
    ("name", "others", "partition"),
    [
        ("sda1", {"sda"}, True),
        ("sdaa", {"sda"}, False),
        ("nvme0n1p2", {"nvme0n1"}, True),
        ("nvme0n12", {"nvme0n1"}, False),
        ("mmcblk0p1", {"mmcblk0"}, True),
        ("md127", {"md12"}, False),
        ("dm-1", {"dm-"}, True),
        ("dm-10", {"dm-1"}, False),
        ("cciss/c0d0p1", {"cciss/c0d0"}, True),
        ("xvda1", set(), False),
    ],
)
def test_partition_by_name(tmp_path: Path, name: str, others: set[str], partition: bool) -> None:
    assert is_partition(Host(tmp_path), name, others) is partition


def test_sysfs_knows_better_than_the_name(tmp_path: Path) -> None:
    write(tmp_path, {"sys/class/block/odd/partition": "1\n", "sys/block/sda1/size": "8\n"})
    assert is_partition(Host(tmp_path), "odd", {"odd"})
    assert not is_partition(Host(tmp_path), "sda1", {"sda"})


def test_idle_disks_cost_nothing_and_keep_their_values(tmp_path: Path) -> None:
    write(tmp_path, {"proc/diskstats": SDA + SDA.replace("sda", "sdb")})
    collector = StorageCollector()
    first, second = (np.empty(len(collector.open(Host(tmp_path)))) for _ in range(2))
    assert collector.read(first)
    write(tmp_path, {"proc/diskstats": SDA.replace("sda 10", "sda 11") + SDA.replace("sda", "sdb")})
    assert collector.read(second)
    np.testing.assert_array_equal(np.flatnonzero(second - first), [0])


def test_a_device_that_begins_asks_for_a_new_layout(tmp_path: Path) -> None:
    write(tmp_path, {"proc/diskstats": SDA + SDA1 + ZRAM})
    collector = StorageCollector()
    out = np.empty(len(collector.open(Host(tmp_path))))
    assert collector.read(out)
    write(tmp_path, {"proc/diskstats": SDA + SDA1 + ZRAM.replace("zram0 0", "zram0 1")})
    assert collector.read(out) is False
    devices = {slot.device for slot in collector.open(Host(tmp_path))}
    assert devices == {"sda", "zram0"}


def test_disks_over_the_limit_are_told(tmp_path: Path) -> None:
    collector = StorageCollector()
    lines = "".join(SDA.replace("sda", f"sd{letter}") for letter in "abcde")
    collector.open(Host(write(tmp_path, {"proc/diskstats": lines}), device_limit=2))
    assert collector.absent() == [("3 more of storage", "over the limit", "raise [agent] device_limit")]
    collector.open(Host(tmp_path, device_limit=5))
    assert list(collector.absent()) == []


def test_partitions_of_an_old_kernel_have_other_columns(tmp_path: Path) -> None:
    root = write(tmp_path, {"proc/diskstats": SDA + "   8  17 sdb1 10 80 20 160\n"})
    assert not any("sdb1" in key for key in read(StorageCollector(), root))
