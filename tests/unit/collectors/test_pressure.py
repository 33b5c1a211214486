"""Pressure stall information."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hostsight.errors import NoDataError
from ingest.collector import Host
from ingest.collectors.pressure import PressureCollector
from tests.unit.collectors.trees import Trees, read, write

CPU = "some avg10=2.61 avg60=1.26 avg300=0.32 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
BOTH = "some avg10=0.90 avg60=0.21 avg300=0.09 total={}\nfull avg10=0.90 avg60=0.21 avg300=0.08 total={}\n"


def test_a_second_of_stall_a_second_is_100_percent(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "proc/pressure/cpu": CPU.format(1_000_000),
            "proc/pressure/memory": BOTH.format(250_000, 30_000),
            "proc/pressure/io": BOTH.format(2_956_975, 2_809_740),
            "proc/pressure/irq": "full avg10=0.00 avg60=0.00 avg300=0.00 total=5000\n",
        },
    )
    assert read(PressureCollector(), tmp_path) == pytest.approx(
        {
            "cpu host pressure_some_percent": 100.0,
            "memory host pressure_some_percent": 25.0,
            "memory host pressure_full_percent": 3.0,
            "storage host pressure_some_percent": 295.6975,
            "storage host pressure_full_percent": 280.9740,
            "cpu host irq_pressure_full_percent": 0.5,
        }
    )


def test_captured(trees: Trees) -> None:
    got = read(PressureCollector(), trees.prometheus)
    assert got["cpu host pressure_some_percent"] == pytest.approx(15e-4)
    assert got["memory host pressure_full_percent"] == pytest.approx(25e-4)


def test_what_is_missing_is_told_with_its_remedy(tmp_path: Path) -> None:
    write(tmp_path, {"proc/pressure/cpu": CPU.format(1)})
    collector = PressureCollector()
    collector.open(Host(tmp_path))
    missing = {what: (reason, remedy) for what, reason, remedy in collector.absent()}
    assert set(missing) == {"/proc/pressure/irq", "/proc/pressure/memory", "/proc/pressure/io"}
    assert missing["/proc/pressure/io"] == (
        "not supported",
        "boot a kernel built with CONFIG_PSI, with psi=1 on its command line",
    )


def test_without_psi_there_is_no_data(tmp_path: Path) -> None:
    with pytest.raises(NoDataError) as caught:
        PressureCollector().open(Host(tmp_path))
    assert "psi=1" in caught.value.remedy


def test_a_file_that_vanishes_costs_its_own_channels(tmp_path: Path) -> None:
    write(tmp_path, {"proc/pressure/cpu": CPU.format(7), "proc/pressure/io": BOTH.format(8, 9)})
    collector = PressureCollector()
    out = np.empty(len(collector.open(Host(tmp_path))))
    (tmp_path / "proc/pressure/cpu").unlink()
    assert collector.read(out)
    np.testing.assert_array_equal(out, [np.nan, 8, 9])


def test_it_fails_where_all_files_vanish(tmp_path: Path) -> None:
    write(tmp_path, {"proc/pressure/cpu": CPU.format(7)})
    collector = PressureCollector()
    out = np.empty(len(collector.open(Host(tmp_path))))
    (tmp_path / "proc/pressure/cpu").unlink()
    with pytest.raises(FileNotFoundError):
        collector.read(out)
