"""Power by RAPL."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from hostsight.errors import NoDataError
from ingest.collector import Host
from ingest.collectors.power import PowerCollector, Unwrapped
from ingest.rates import Rates
from tests.unit.collectors.trees import Trees, read, write

ZONES = "sys/class/powercap"


def zone(name: str, number: str, energy: int, size: int = 262_143_328_850) -> dict[str, str]:
    return {
        f"{ZONES}/{number}/name": f"{name}\n",
        f"{ZONES}/{number}/energy_uj": f"{energy}\n",
        f"{ZONES}/{number}/max_energy_range_uj": f"{size}\n",
    }


def test_energy_in_joules_and_limits_in_watts(trees: Trees) -> None:
    values = read(PowerCollector(), trees.dual_xeon)
    assert values == pytest.approx({
        "cpu package-0 power_watts": 13_178.577102,
        "cpu package-0 power_limit_watts": 85,
        "cpu package-1 power_watts": 159_494.993608,
        "cpu package-1 power_limit_watts": 85,
    })  # fmt: skip


def test_a_zone_within_a_package_carries_its_name(trees: Trees) -> None:
    values = read(PowerCollector(), trees.prometheus)
    assert values["cpu package-0 power_watts"] == pytest.approx(240_422.366267)
    assert values["cpu package-0-core power_watts"] == pytest.approx(118_821.284256)
    assert values["cpu package-10 power_watts"] == pytest.approx(240_422.366267)
    assert values["cpu package-10 power_limit_watts"] == 4090


def test_memory_is_apart(tmp_path: Path) -> None:
    write(tmp_path, zone("package-0", "intel-rapl:0", 1) | zone("dram", "intel-rapl:0:2", 2_000_000))
    assert read(PowerCollector(), tmp_path)["memory package-0-dram power_watts"] == pytest.approx(2)


def test_the_same_zone_by_another_way_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, zone("package-0", "intel-rapl:0", 5) | zone("package-0", "intel-rapl-mmio:0", 7))
    assert read(PowerCollector(), tmp_path) == pytest.approx({"cpu package-0 power_watts": 5e-6})


def test_a_counter_that_wraps_loses_nothing() -> None:
    count = Unwrapped(1000)
    assert [count(text)[0] for text in (b"900", b"950", b"30", b"10", b"999")] == [900, 950, 1030, 2010, 2999]


def test_a_counter_whose_size_is_not_known_starts_anew() -> None:
    count = Unwrapped(float("nan"))
    assert [count(text)[0] for text in (b"900", b"30")] == [900, 30]


def test_watts_across_a_wrap(tmp_path: Path) -> None:
    collector = PowerCollector()
    slots = collector.open(
        Host(write(tmp_path, zone("package-0", "intel-rapl:0", 990_000_000, 1_000_000_000)))
    )
    rates, out = Rates(slots), np.empty(1)
    assert collector.read(out)
    rates.values(out, 1_000_000_000)
    write(tmp_path, zone("package-0", "intel-rapl:0", 60_000_000, 1_000_000_000))
    assert collector.read(out)
    assert rates.values(out, 1_500_000_000).tolist() == pytest.approx([140])  # 70 J in half a second


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read any file")
def test_what_only_root_may_read_is_named_with_the_way_out(tmp_path: Path) -> None:
    write(tmp_path, zone("package-0", "intel-rapl:0", 5))
    (tmp_path / ZONES / "intel-rapl:0/energy_uj").chmod(0)
    with pytest.raises(NoDataError) as caught:
        PowerCollector().open(Host(tmp_path))
    assert caught.value.reason == "permission"
    assert "chmod a+r" in caught.value.remedy


def test_no_zone(tmp_path: Path) -> None:
    with pytest.raises(NoDataError) as caught:
        PowerCollector().open(Host(tmp_path))
    assert "modprobe intel_rapl_msr" in caught.value.remedy
