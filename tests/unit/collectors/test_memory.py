"""Memory of the host and its nodes, what the memory manager does, and huge pages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hostsight.errors import NoDataError
from ingest.collector import Host
from ingest.collectors.hugepages import HugepagesCollector
from ingest.collectors.memory import MemoryCollector
from ingest.collectors.numa import NumaCollector
from ingest.collectors.pages import PAGE_BYTES
from ingest.collectors.vmstat import VmstatCollector
from tests.unit.collectors.trees import Trees, read, write

KIB = 1024


def test_meminfo(trees: Trees) -> None:
    got = read(MemoryCollector(), trees.prometheus)
    expected = {
        "total_bytes": 15_666_184,
        "free_bytes": 440_324,
        "buffers_bytes": 1_020_128,
        "cached_bytes": 12_007_640,
        "active_anonymous_bytes": 267_256,
        "inactive_anonymous_bytes": 268,
        "active_file_bytes": 6_494_020,
        "inactive_file_bytes": 6_532_440,
        "swap_total_bytes": 0,
        "zswap_bytes": 22_414,
        "zswapped_bytes": 10_502,
        "dirty_bytes": 768,
        "anonymous_bytes": 266_216,
        "shared_bytes": 1_308,
        "slab_reclaimable_bytes": 1_738_124,
        "slab_unreclaimable_bytes": 69_140,
        "committed_bytes": 530_844,
        "per_cpu_bytes": 26_176,
        "anonymous_huge_bytes": 12_288,
        "direct_map_2m_bytes": 16_039_936,
    }
    assert {name: got[f"memory host {name}"] / KIB for name in expected} == expected


def test_what_an_older_kernel_does_not_say_is_left_out(trees: Trees) -> None:
    assert "memory host available_bytes" not in read(MemoryCollector(), trees.prometheus)
    newer = read(MemoryCollector(), trees.tar("numa-2node-foreign"))
    assert newer["memory host available_bytes"] == 7_202_848 * KIB


def test_vmstat(trees: Trees) -> None:
    got = read(VmstatCollector(), trees.tar("numa-2node-foreign"))
    expected = {
        "page_faults_per_s": 5_527_692,
        "major_page_faults_per_s": 940,
        "freed_pages_per_s": 6_538_253,
        "activated_pages_per_s": 409_287,
        "deactivated_pages_per_s": 0,
        "background_scanned_pages_per_s": 0,
        "direct_reclaimed_pages_per_s": 0,
        "numa_balancing_updates_per_s": 76_853,
        "numa_hint_faults_per_s": 53_681,
        "numa_hint_faults_local_per_s": 26_996,
        "numa_migrated_pages_per_s": 24_765,
        "migrated_pages_per_s": 24_765,
        "migration_failed_pages_per_s": 0,
        "compaction_stalls_per_s": 0,
        "out_of_memory_kills_per_s": 0,
        "direct_map_2m_splits_per_s": 83,
    }
    assert {name: got[f"memory host {name}"] for name in expected} == expected


def test_vmstat_units(tmp_path: Path) -> None:
    write(tmp_path, {"proc/vmstat": "pgpgin 3\npswpout 5\nnr_dirty_threshold 7\nallocstall_normal 11\n"})
    assert read(VmstatCollector(), tmp_path) == {
        "storage host paged_in_bytes_per_s": 3 * KIB,
        "memory host swapped_out_bytes_per_s": 5 * PAGE_BYTES,
        "memory host dirty_limit_bytes": 7 * PAGE_BYTES,
        "memory host allocation_stalls_normal_per_s": 11,
    }


def test_numa_foreign_of_one_node_is_the_miss_of_the_other(trees: Trees) -> None:
    got = read(NumaCollector(), trees.tar("numa-2node-foreign"))
    assert got["interconnect node0 numa_foreign_pages_per_s"] == 489_923
    assert got["interconnect node1 numa_miss_pages_per_s"] == 489_923
    assert got["interconnect node0 numa_miss_pages_per_s"] == 0
    assert got["interconnect node0 numa_other_node_pages_per_s"] == 847
    assert got["interconnect node1 numa_other_node_pages_per_s"] == 492_232
    assert got["memory node0 numa_hit_pages_per_s"] == 2_917_402
    assert got["memory node1 numa_local_pages_per_s"] == 1_991_377
    assert got["memory node1 numa_interleave_hit_pages_per_s"] == 1_084


def test_memory_of_a_node(trees: Trees) -> None:
    got = read(NumaCollector(), trees.tar("numa-2node-foreign"))
    assert got["memory node0 total_bytes"] == 4_060_992 * KIB
    assert got["memory node1 used_bytes"] == 950_000 * KIB
    assert got["memory node1 free_bytes"] == 3_130_736 * KIB
    assert got["memory node1 cached_bytes"] == 607_516 * KIB
    assert got["memory node0 anonymous_bytes"] == 40_328 * KIB
    assert got["memory node1 slab_unreclaimable_bytes"] == 68_204 * KIB


def test_four_nodes(trees: Trees) -> None:
    got = read(NumaCollector(), trees.tar("numa-4node-miss"))
    misses = [got[f"interconnect node{node} numa_miss_pages_per_s"] for node in range(4)]
    assert misses == [523_279, 1_438_275, 360_576, 960_476]
    assert got["memory node3 numa_hit_pages_per_s"] == 32_928_796


def test_counters_beyond_32_bits(trees: Trees) -> None:
    got = read(NumaCollector(), trees.ttar("node-exporter-sys"))
    assert got["memory node0 numa_hit_pages_per_s"] == 193_460_335_812
    assert got["interconnect node0 numa_foreign_pages_per_s"] == 59_858_623_300
    assert got["memory node0 total_bytes"] == 134_182_340 * KIB


def test_a_node_number_may_be_missing(tmp_path: Path) -> None:
    folder = "sys/devices/system/node/node8"
    write(tmp_path, {f"{folder}/numastat": "numa_hit 1\nnuma_miss 2\n"})
    assert read(NumaCollector(), tmp_path) == {
        "memory node8 numa_hit_pages_per_s": 1,
        "interconnect node8 numa_miss_pages_per_s": 2,
    }


def test_a_host_without_nodes_has_no_numa(tmp_path: Path) -> None:
    with pytest.raises(NoDataError, match="/sys/devices/system/node shows no NUMA node"):
        NumaCollector().open(Host(tmp_path))


def test_huge_pages_of_each_size_and_node(trees: Trees) -> None:
    got = read(HugepagesCollector(), trees.tar("hugepages-4sizes"))
    assert got["memory hugepages-2048kB huge_pages"] == 2000
    assert got["memory hugepages-2048kB free_huge_pages"] == 2000
    assert got["memory hugepages-2048kB reserved_huge_pages"] == 8
    assert got["memory hugepages-2048kB surplus_huge_pages"] == 4
    assert got["memory hugepages-1048576kB huge_pages"] == 100
    assert got["memory hugepages-64kB huge_pages"] == 0
    assert got["memory hugepages-32768kB free_huge_pages"] == 0
    assert got["memory node0-hugepages-2048kB surplus_huge_pages"] == 4
    assert got["memory node0-hugepages-1048576kB free_huge_pages"] == 100
    assert "memory node0-hugepages-2048kB reserved_huge_pages" not in got


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_pools_of_many_nodes_hold_no_descriptors(tmp_path: Path) -> None:
    files = {
        f"sys/devices/system/node/node{n}/hugepages/hugepages-2048kB/nr_hugepages": f"{n}\n" for n in range(9)
    }
    collector = HugepagesCollector()
    before = descriptors()
    slots = collector.open(Host(write(tmp_path, files)))
    out = np.empty(len(slots))
    assert collector.read(out)
    assert descriptors() == before
    assert list(out) == [*range(9)]


def test_sizes_come_smallest_first(trees: Trees) -> None:
    slots = HugepagesCollector().open(Host(trees.tar("hugepages-4sizes")))
    devices = list(dict.fromkeys(slot.device for slot in slots))
    assert devices[:4] == [f"hugepages-{size}kB" for size in (64, 2048, 32_768, 1_048_576)]
