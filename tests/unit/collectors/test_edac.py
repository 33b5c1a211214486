"""Errors in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hostsight.errors import NoDataError
from ingest.collector import Host
from ingest.collectors.edac import EdacCollector
from tests.unit.collectors.trees import Trees, read, write

MC = "sys/devices/system/edac/mc"


def test_a_controller_with_rows(trees: Trees) -> None:
    assert read(EdacCollector(), trees.node_exporter) == {
        "memory mc0 memory_corrected_errors_per_s": 1,
        "memory mc0 memory_uncorrected_errors_per_s": 5,
        "memory mc0 memory_corrected_unplaced_errors_per_s": 2,
        "memory mc0 memory_uncorrected_unplaced_errors_per_s": 6,
        "memory mc0-csrow0 memory_corrected_errors_per_s": 3,
        "memory mc0-csrow0 memory_uncorrected_errors_per_s": 4,
        "memory mc0-csrow1 memory_corrected_errors_per_s": 0,
        "memory mc0-csrow1 memory_uncorrected_errors_per_s": 4,
        "memory mc0-csrow2 memory_corrected_errors_per_s": 0,
        "memory mc0-csrow2 memory_uncorrected_errors_per_s": 5,
    }


def test_modules_rather_than_the_rows_that_are_shown_beside_them(trees: Trees) -> None:
    values = read(EdacCollector(), trees.dual_xeon)
    modules = {f"mc{controller}-dimm{slot}" for controller in (0, 1) for slot in (0, 3, 6, 9)}
    assert {key.split()[1] for key in values} == {"mc0", "mc1"} | modules
    assert len(values) == 24
    assert set(values.values()) == {0}


def test_ranks_and_more_than_ten_modules_in_order(tmp_path: Path) -> None:
    files = {f"{MC}/mc0/rank{rank}/dimm_ce_count": f"{rank}\n" for rank in (10, 9, 2)}
    values = read(EdacCollector(), write(tmp_path, files))
    assert [*values.items()] == [
        ("memory mc0-rank2 memory_corrected_errors_per_s", 2),
        ("memory mc0-rank9 memory_corrected_errors_per_s", 9),
        ("memory mc0-rank10 memory_corrected_errors_per_s", 10),
    ]


def test_errors_show_when_they_come(tmp_path: Path) -> None:
    collector = EdacCollector()
    out = np.empty(len(collector.open(Host(write(tmp_path, {f"{MC}/mc0/ce_count": "0\n"})))))
    write(tmp_path, {f"{MC}/mc0/ce_count": "17\n"})
    assert collector.read(out)
    assert out.tolist() == [17]


def test_the_missing_driver_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoDataError) as caught:
        EdacCollector().open(Host(write(tmp_path, {f"{MC}/uevent": ""})))
    assert "modprobe" in caught.value.remedy
