"""The page size of a captured tree is that of the machine it was taken from, where it tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.collector import Host
from ingest.collectors.pages import PAGE_BYTES, page_bytes
from ingest.collectors.processes import ProcessesCollector
from ingest.collectors.sockstat import SockstatCollector
from ingest.collectors.vmstat import VmstatCollector
from tests.unit.collectors.trees import Trees, read, write

KIB = 1024
LARGE = {
    "proc/meminfo": "MemTotal:       1 kB\nPageTables:     6464 kB\nSecPageTables:     0 kB\n",
    "proc/vmstat": "nr_page_table_pages 100\npswpin 2\nnr_dirty_threshold 3\npgfault 7\npgpgin 5\n",
    "proc/net/sockstat": "TCP: inuse 1 orphan 0 tw 0 alloc 1 mem 11\nFRAG: inuse 0 memory 13\n",
    "proc/9/stat": f"9 (a) {' '.join(['S', *['0'] * 20, '17', '0'])}\n",
}
"""Of 64 KiB; one more page table was there when the first file was read."""


def test_a_captured_server_tells_its_page_size(trees: Trees) -> None:
    assert page_bytes(Host(trees.tar("numa-2node-foreign"))) == 4 * KIB


def test_what_a_captured_tree_counts_in_pages_comes_in_bytes_of_its_own_pages(tmp_path: Path) -> None:
    root = write(tmp_path, LARGE)

    memory, sockets = read(VmstatCollector(), root), read(SockstatCollector(), root)

    assert memory["memory host swapped_in_bytes_per_s"] == 2 * 64 * KIB
    assert memory["memory host dirty_limit_bytes"] == 3 * 64 * KIB
    assert memory["memory host page_faults_per_s"] == 7
    assert memory["storage host paged_in_bytes_per_s"] == 5 * KIB
    assert sockets["network host tcp_memory_bytes"] == 11 * 64 * KIB
    assert sockets["network host reassembly_memory_bytes"] == 13
    assert read(ProcessesCollector(), root)["memory top1 process_resident_bytes"] == 17 * 64 * KIB


@pytest.mark.parametrize(
    ("meminfo", "vmstat"),
    [
        ("PageTables: 0 kB\n", "nr_page_table_pages 0\n"),
        ("PageTables: 0 kB\n", "nr_page_table_pages 9\n"),
        ("PageTables: 99999999 kB\n", "nr_page_table_pages 1\n"),
        ("PageTables: x kB\n", "nr_page_table_pages 9\n"),
        ("PageTables: 36 kB\n", "pgfault 9\n"),
        ("", "nr_page_table_pages 9\n"),
    ],
)
def test_a_tree_that_does_not_tell_is_taken_to_have_pages_as_here(
    tmp_path: Path, meminfo: str, vmstat: str
) -> None:
    assert page_bytes(Host(tmp_path)) == PAGE_BYTES
    write(tmp_path, {"proc/meminfo": meminfo, "proc/vmstat": vmstat})
    assert page_bytes(Host(tmp_path)) == PAGE_BYTES
