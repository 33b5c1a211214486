"""How fast the CPUs run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hostsight.errors import NoDataError
from ingest.collector import Host, Tier, in_background, tier_on
from ingest.collectors.frequency import FrequencyCollector
from tests.unit.collectors.trees import Trees, read, write

POLICIES = "sys/devices/system/cpu/cpufreq"
CPUINFO = "processor\t: 0\ncpu MHz\t\t: 2600.000\n\nprocessor\t: 7\ncpu MHz\t\t: 1200.500\n"


def test_each_cpu_of_a_server_by_its_policy(trees: Trees) -> None:
    values = read(FrequencyCollector(), trees.dual_xeon)
    each = {f"cpu cpu{cpu} frequency_hertz": 3_100_000_000 for cpu in range(40)}
    assert values.items() >= (each | {"cpu cpu3 frequency_hertz": 1_383_095_000}).items()
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


def test_the_mean_since_the_last_reading_comes_before_a_moment_s_value(trees: Trees) -> None:
    collector = FrequencyCollector()
    slots = collector.open(Host(trees.prometheus))
    assert {slot.source.rpartition("/")[2] for slot in slots} == {"cpuinfo_avg_freq"}
    assert read(FrequencyCollector(), trees.prometheus)["cpu host frequency_max_hertz"] == 3_184_097_000


@pytest.mark.parametrize(
    ("file", "tier"), [("cpuinfo_avg_freq", Tier.MEDIUM), ("scaling_cur_freq", Tier.SLOW)]
)
def test_what_may_cost_milliseconds_is_read_rarely(tmp_path: Path, file: str, tier: Tier) -> None:
    files = {f"{POLICIES}/policy0/affected_cpus": "0\n", f"{POLICIES}/policy0/{file}": "800000\n"}
    assert tier_on(FrequencyCollector(), Host(write(tmp_path, files))) is tier


def test_an_old_kernel_has_no_policies(tmp_path: Path) -> None:
    folder = "sys/devices/system/cpu/cpu{}/cpufreq"
    files = {f"{folder.format(cpu)}/affected_cpus": f"{cpu}\n" for cpu in (0, 10, 9)}
    files |= {f"{folder.format(cpu)}/scaling_cur_freq": f"{cpu + 1}000000\n" for cpu in (0, 10, 9)}
    values = read(FrequencyCollector(), write(tmp_path, files))
    (source,) = {slot.source for slot in FrequencyCollector().open(Host(tmp_path))}
    assert source == "/sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq"
    assert values["cpu cpu10 frequency_hertz"] == 11e9
    assert [key.split()[1] for key in values][3:] == ["cpu0", "cpu9", "cpu10"]


class Registers:
    """Stands in for pread on /dev/cpu/N/msr: {register: value}, the same for every CPU."""

    def __init__(self, **registers: int) -> None:
        self.registers = {
            0xE7: registers["mperf"],
            0xE8: registers["aperf"],
            0xCE: registers.get("platform", 0),
        }

    def __call__(self, fd: int, size: int, register: int) -> bytes:
        assert size == 8
        return self.registers[register].to_bytes(8, "little")


def msr_tree(root: Path) -> Host:
    return Host(write(root, {f"dev/cpu/{cpu}/msr": "" for cpu in (0, 1, 10)}))


def test_the_clock_while_running_is_the_ratio_of_two_counters(tmp_path: Path) -> None:
    registers = Registers(mperf=1000, aperf=2**64 - 500, platform=22 << 8)  # 2.2 GHz; APERF is about to wrap
    collector = FrequencyCollector(registers)
    slots = collector.open(msr_tree(tmp_path))
    assert [slot.device for slot in slots] == ["host"] * 3 + ["cpu0", "cpu1", "cpu10"]
    registers.registers |= {0xE7: 3000, 0xE8: 2500}
    out = np.full(len(slots), np.nan)
    assert collector.read(out)
    assert out.tolist() == pytest.approx([3.3e9] * 6)  # 3000 of 2000
    collector.close()


def test_the_base_clock_of_cpufreq_counts_before_the_register(tmp_path: Path) -> None:
    registers = Registers(mperf=0, aperf=0, platform=22 << 8)
    write(tmp_path, {"sys/devices/system/cpu/cpu0/cpufreq/base_frequency": "3000000\n"})
    collector = FrequencyCollector(registers)
    out = np.full(len(collector.open(msr_tree(tmp_path))), np.nan)
    registers.registers |= {0xE7: 100, 0xE8: 50}
    assert collector.read(out)
    assert out[0] == 1.5e9
    collector.close()


def test_a_processor_that_counts_but_may_not_be_asked_is_named(tmp_path: Path) -> None:
    text = CPUINFO.replace("\n\n", "\nflags\t\t: fpu aperfmperf\n\n")
    collector = FrequencyCollector()
    collector.open(Host(write(tmp_path, {"proc/cpuinfo": text})))
    assert collector.absent()[0][2] == "modprobe msr, and run the agent as root"


def test_registers_that_cannot_be_read_leave_the_other_ways(tmp_path: Path) -> None:
    write(tmp_path, {"proc/cpuinfo": CPUINFO})
    msr_tree(tmp_path)  # files of no length
    assert read(FrequencyCollector(), tmp_path)["cpu cpu0 frequency_hertz"] == 2_600_000_000


@pytest.mark.parametrize(
    ("cpuinfo", "hertz"),
    [
        ("processor\t: 8\nCPU Family\t: Loongson-64bit\nCPU MHz\t\t\t: 2500.00\n", 2_500_000_000),
        ("processor\t: 8\ncpu\t\t: POWER9\nclock\t\t: 3800.000000MHz\n", 3_800_000_000),
        ("cpu number      : 8\ncpu MHz dynamic : 5208\ncpu MHz static  : 5200\n", 5_208_000_000),
    ],
)
def test_clocks_of_other_architectures(tmp_path: Path, cpuinfo: str, hertz: float) -> None:
    assert (
        read(FrequencyCollector(), write(tmp_path, {"proc/cpuinfo": cpuinfo}))["cpu cpu8 frequency_hertz"]
        == hertz
    )


@pytest.mark.parametrize("unknown", ["0", "-1", "<unknown>", ""])
def test_a_clock_that_the_driver_does_not_know_is_absent(tmp_path: Path, unknown: str) -> None:
    policy = "sys/devices/system/cpu/cpufreq/policy"
    files = {f"{policy}{cpu}/affected_cpus": f"{cpu}\n" for cpu in (0, 1)}
    files |= {f"{policy}0/scaling_cur_freq": f"{unknown}\n", f"{policy}1/scaling_cur_freq": "1500000\n"}
    values = read(FrequencyCollector(), write(tmp_path, files))
    assert np.isnan(values["cpu cpu0 frequency_hertz"])
    assert values["cpu host frequency_min_hertz"] == 1_500_000_000
