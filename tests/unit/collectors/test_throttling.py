"""Thermal throttling of cores and packages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hostsight.errors import NoDataError
from ingest.collector import Host
from ingest.collectors.throttling import ThrottlingCollector
from tests.unit.collectors.trees import Trees, read, write

CPU = "sys/devices/system/cpu"


def throttle(cpu: int, package: int, core: int, events: int, ms: int = 0) -> dict[str, str]:
    return {
        f"{CPU}/cpu{cpu}/topology/physical_package_id": f"{package}\n",
        f"{CPU}/cpu{cpu}/topology/core_id": f"{core}\n",
        f"{CPU}/cpu{cpu}/topology/die_id": "0\n",
        f"{CPU}/cpu{cpu}/thermal_throttle/core_throttle_count": f"{events}\n",
        f"{CPU}/cpu{cpu}/thermal_throttle/core_throttle_total_time_ms": f"{ms}\n",
        f"{CPU}/cpu{cpu}/thermal_throttle/package_throttle_count": f"{events * 2}\n",
    }


def test_two_packages(trees: Trees) -> None:
    assert read(ThrottlingCollector(), trees.node_exporter) == {
        "cpu package0 package_throttles_per_s": 30,
        "cpu package1 package_throttles_per_s": 6,
        "cpu cpu0 core_throttles_per_s": 5,
        "cpu cpu1 core_throttles_per_s": 0,
        "cpu cpu2 core_throttles_per_s": 0,
        "cpu cpu3 core_throttles_per_s": 9,
    }


def test_one_package(trees: Trees) -> None:
    assert read(ThrottlingCollector(), trees.prometheus) == {
        "cpu package0 package_throttles_per_s": 34_818,
        "cpu cpu0 core_throttles_per_s": 10_084,
        "cpu cpu1 core_throttles_per_s": 523,
    }


def test_a_server_with_forty_threads_has_twenty_cores(trees: Trees) -> None:
    values = read(ThrottlingCollector(), trees.dual_xeon)
    assert [key for key in values if "core_throttles" in key] == [
        f"cpu cpu{cpu} core_throttles_per_s" for cpu in range(20)
    ]
    assert {key.split()[1] for key in values if "package" in key.split()[2]} == {"package0", "package1"}
    assert set(values.values()) == {0}


def test_threads_of_a_core_count_the_same_events_once(tmp_path: Path) -> None:
    write(tmp_path, throttle(0, 0, 0, 7, 450) | throttle(1, 0, 0, 7, 450) | throttle(2, 1, 0, 4))
    values = read(ThrottlingCollector(), tmp_path)
    assert values["cpu cpu0 core_throttles_per_s"] == 7
    assert values["cpu cpu0 core_throttled_percent"] == pytest.approx(45.0)  # of one second
    assert "cpu cpu1 core_throttles_per_s" not in values
    assert values["cpu cpu2 core_throttles_per_s"] == 4
    assert values["cpu package1 package_throttles_per_s"] == 8


def test_a_large_host_has_packages_alone(trees: Trees) -> None:
    values = read(ThrottlingCollector(), trees.node_exporter, per_cpu=3)
    assert {key.split()[1] for key in values} == {"package0", "package1"}


def test_a_cpu_that_goes_offline_changes_the_layout(tmp_path: Path) -> None:
    write(tmp_path, throttle(0, 0, 0, 1) | throttle(1, 0, 1, 2))
    collector = ThrottlingCollector()
    out = np.empty(len(collector.open(Host(tmp_path))))
    assert collector.read(out)
    (tmp_path / CPU / "cpu1").rename(tmp_path / "gone")
    assert not collector.read(out)
    assert len(collector.open(Host(tmp_path))) == 3


def test_other_processors_have_none(tmp_path: Path) -> None:
    with pytest.raises(NoDataError, match="Intel"):
        ThrottlingCollector().open(Host(write(tmp_path, {f"{CPU}/cpu0/online": "1"})))


def test_topology_that_makes_no_sense_names_no_package(tmp_path: Path) -> None:
    write(tmp_path, throttle(0, 0, 0, 7) | {f"{CPU}/cpu0/topology/physical_package_id": "N/A [red]\n"})
    values = read(ThrottlingCollector(), tmp_path)
    assert values["cpu cpu0 package_throttles_per_s"] == 14
    assert {key.split()[1] for key in values} == {"cpu0"}
