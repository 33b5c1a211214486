"""CPUs and NUMA nodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ingest.collector import Host
from ingest.collectors.topology import cpu_nodes, nodes, parse_list, parse_mask, spread
from tests.unit.collectors.trees import Trees, write

NODES = "sys/devices/system/node"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0-3,8,10-11\n", [0, 1, 2, 3, 8, 10, 11]),
        ("5", [5]),
        ("\n", []),
        ("x,2-y,3-1,-4,7", [7]),
    ],
)
def test_kernel_lists(text: str, numbers: list[int]) -> None:
    assert list(parse_list(text)) == numbers


def test_a_list_that_no_kernel_writes_comes_to_an_end() -> None:
    assert list(parse_list("3,0-999999," * 5000)) == [3, *range(2**14 - 1)]
    assert list(parse_list("16383-16385,99999999999")) == [16383]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("00000001,8000000f", [0, 1, 2, 3, 31, 32]),
        ("f0", [4, 5, 6, 7]),
        ("00000000,00000000", []),
        ("", []),
        ("0x3", []),
        ("N/A", []),
    ],
)
def test_kernel_masks(text: str, numbers: list[int]) -> None:
    assert list(parse_mask(text)) == numbers


def test_nodes_of_an_old_kernel(tmp_path: Path) -> None:
    masks = {f"{NODES}/node0/cpumap": "00000000,00000003\n", f"{NODES}/node4/cpumap": "00000001,00000000\n"}
    assert cpu_nodes(Host(write(tmp_path, masks))) == {0: 0, 1: 0, 32: 4}


def test_a_dual_xeon(trees: Trees) -> None:
    host = Host(trees.dual_xeon)
    of_node = cpu_nodes(host)
    assert nodes(host) == [0, 1]
    assert [cpu for cpu, node in of_node.items() if node == 1] == [*range(10, 20), *range(30, 40)]


def test_nodes_without_cpus_and_gaps(tmp_path: Path) -> None:
    write(tmp_path, {f"{NODES}/node0/cpulist": "0-1\n", f"{NODES}/node10/cpulist": "\n"})
    assert nodes(Host(tmp_path)) == [0, 10]
    assert cpu_nodes(Host(tmp_path)) == {0: 0, 1: 0}


def test_counts_are_folded_by_cpu_and_node(tmp_path: Path) -> None:
    write(tmp_path, {f"{NODES}/node0/cpulist": "0,3\n", f"{NODES}/node1/cpulist": "1\n"})
    shown = spread(Host(tmp_path), (0, 1, 3))
    assert shown.devices == ("cpu0", "cpu1", "cpu3", "node0", "node1")
    np.testing.assert_array_equal(shown.fold(np.array([5.0, 7.0, 9.0])), [5, 7, 9, 14, 7])
    absent = shown.fold(np.array([[5.0, np.nan, 9.0]]))
    np.testing.assert_array_equal(absent, [[5, np.nan, 9, 14, np.nan]])


def test_one_node_is_not_worth_a_channel(tmp_path: Path) -> None:
    write(tmp_path, {f"{NODES}/node0/cpulist": "0-1\n"})
    assert spread(Host(tmp_path), (0, 1)).devices == ("cpu0", "cpu1")
    assert spread(Host(tmp_path, per_cpu_limit=1), (0, 1)).devices == ()
