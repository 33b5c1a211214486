"""How fast the CPUs run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hostsight.errors import NoDataError
from ingest.collector import Host, in_background
from ingest.collectors.frequency import FrequencyCollector
from tests.unit.collectors.trees import Trees, read, write

POLICIES = "sys/devices/system/cpu/cpufreq"
CPUINFO = "processor\t: 0\ncpu MHz\t\t: 2600.000\n\nprocessor\t: 7\ncpu MHz\t\t: 1200.500\n"


def test_each_cpu_of_a_server_by_its_policy(trees: Trees) -> None:
    values = read(FrequencyCollector(), trees.dual_xeon)
    assert values["cpu cpu3 frequency_hertz"] == 1_383_095_000
    assert values["cpu cpu20 frequency_hertz"] == 3_100_000_000
    assert values["cpu host frequency_min_hertz"] == 1_383_095_000
    assert values["cpu host frequency_max_hertz"] == 3_100_000_000
    assert values["cpu host frequency_mean_hertz"] == pytest.approx((39 * 3.1e9 + 1.383095e9) / 40)
    assert len(values) == 43


def test_a_large_host_has_the_mean_and_the_extremes_alone(trees: Trees) -> None:
    assert len(read(FrequencyCollector(), trees.dual_xeon, per_cpu=39)) == 3


def test_a_policy_may_hold_several_cpus(tmp_path: Path) -> None:
    files = {
        f"{POLICIES}/policy0/affected_cpus": "0 1 8\n",
        f"{POLICIES}/policy0/scaling_cur_freq": "800000\n",
    }
    values = read(FrequencyCollector(), write(tmp_path, files))
    assert [values[f"cpu cpu{cpu} frequency_hertz"] for cpu in (0, 1, 8)] == [8e8] * 3


def test_without_cpufreq_the_clock_is_that_of_cpuinfo(tmp_path: Path) -> None:
    values = read(FrequencyCollector(), write(tmp_path, {"proc/cpuinfo": CPUINFO}))
    assert values["cpu cpu0 frequency_hertz"] == 2_600_000_000
    assert values["cpu cpu7 frequency_hertz"] == 1_200_500_000


def test_a_clock_that_cannot_be_read_leaves_the_others(tmp_path: Path) -> None:
    files = {f"{POLICIES}/policy{cpu}/affected_cpus": f"{cpu}\n" for cpu in (0, 1)}
    files |= {f"{POLICIES}/policy{cpu}/scaling_cur_freq": "900000\n" for cpu in (0, 1)}
    collector = FrequencyCollector()
    slots = collector.open(Host(write(tmp_path, files)))
    write(tmp_path, {f"{POLICIES}/policy0/scaling_cur_freq": "<unknown>\n"})
    out = np.full(len(slots), np.nan)
    assert collector.read(out)
    assert out.tolist() == pytest.approx(
        [900_000_000, 900_000_000, 900_000_000, np.nan, 900_000_000], nan_ok=True
    )
    collector.close()


@pytest.mark.parametrize("cpuinfo", ["", "processor : 0\nBogoMIPS : 50.00\n", "\0\xff"])
def test_a_kernel_that_shows_no_clock_has_no_data(tmp_path: Path, cpuinfo: str) -> None:
    with pytest.raises(NoDataError):
        FrequencyCollector().open(Host(write(tmp_path, {"proc/cpuinfo": cpuinfo})))


def test_is_read_in_the_background() -> None:
    assert in_background(FrequencyCollector())
