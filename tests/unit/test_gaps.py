"""What `doctor` finds missing, and what a captured tree must not say of another host."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from hostsight.settings import AgentSettings, Settings
from ingest.survey import Finding, sample_once, survey
from tests.unit.collectors.trees import write

STAT = "cpu  300 0 60 900 0 0 0 0 0 0\ncpu0 300 0 60 900 0 0 0 0 0 0\n"


def settings(root: Path) -> Settings:
    return Settings(agent=AgentSettings(root=str(root)))


def found(root: Path) -> set[Finding]:
    return {*survey(settings(root)).findings}


def values(root: Path) -> dict[str, float]:
    return {f"{row.device} {row.metric}": row.value for row in sample_once(settings(root), interval=0.0)}


def test_a_link_out_of_the_tree_says_nothing_of_the_host(tmp_path: Path) -> None:
    write(tmp_path / "other", {"stat": STAT, "hwmon0/name": "k10temp\n", "hwmon0/temp1_input": "66000\n"})
    root = write(
        tmp_path / "tree", {"proc/meminfo": "MemTotal: 16 kB\n", "sys/class/hwmon/hwmon1/name": "x\n"}
    )
    (root / "proc/stat").symlink_to("../../other/stat")
    (root / "proc/loadavg").symlink_to("/proc/loadavg")
    (root / "sys/class/hwmon/hwmon0").symlink_to("../../../../other/hwmon0")
    (root / "sys/kernel/mm").mkdir(parents=True)
    assert values(root) == {"host total_bytes": 16_384}
    told = found(root)
    assert Finding("cpu", "cpu of /proc/stat", "a link leads out of the tree", "") in told
    assert Finding("cpu", "load of /proc/loadavg", "a link leads out of the tree", "") in told
    assert survey(settings(root)).channels["cpu"] == 0


def test_a_policy_out_of_the_tree_is_left_out_as_well(tmp_path: Path) -> None:
    write(tmp_path / "other", {"policy0/affected_cpus": "0\n", "policy0/scaling_cur_freq": "2000000\n"})
    root = write(tmp_path / "tree", {"sys/devices/system/cpu/cpufreq/boost": "1\n"})
    (root / "sys/devices/system/cpu/cpufreq/policy0").symlink_to(tmp_path / "other/policy0")
    assert values(root) == {}


def test_disks_of_another_host_are_not_those_of_the_tree(tmp_path: Path) -> None:
    write(tmp_path / "other", {"block/sda/device/model": "x\n"})
    root = write(tmp_path / "tree", {"proc/meminfo": "MemTotal: 16 kB\n"})
    (root / "sys").mkdir()
    (root / "sys/block").symlink_to("../../other/block")
    assert values(root) == {"host total_bytes": 16_384}


def test_a_link_inside_the_tree_is_followed(tmp_path: Path) -> None:
    root = write(tmp_path, {"proc/self/stat": STAT})
    (root / "proc/stat").symlink_to("self/stat")
    assert values(root)["host idle_percent"] == 9.0


def test_a_tree_named_by_a_link_is_no_link_out_of_it(tmp_path: Path) -> None:
    write(tmp_path / "tree", {"proc/stat": STAT})
    (tmp_path / "name").symlink_to("tree")
    assert values(tmp_path / "name")["host idle_percent"] == 9.0


def test_channels_without_a_number_are_told(tmp_path: Path) -> None:
    policy = "sys/devices/system/cpu/cpufreq/policy"
    root = write(
        tmp_path,
        {
            "proc/meminfo": "MemTotal: 16 kB\nMemFree: N/A kB\n",
            f"{policy}0/affected_cpus": "0\n",
            f"{policy}0/cpuinfo_avg_freq": "2000000\n",
            f"{policy}1/affected_cpus": "1\n",
            f"{policy}1/cpuinfo_avg_freq": "",
        },
    )
    told = found(root)
    assert Finding("memory", "free_bytes of host", "N/A", "") in told
    assert Finding("cpu", "frequency_hertz of cpu1", "N/A", "") in told
    assert not any("total_bytes" in one.what for one in told)


def test_many_metrics_without_a_number_are_told_in_one_line(tmp_path: Path) -> None:
    names = ("MemTotal", "MemFree", "Buffers", "Cached", "Dirty", "Mapped", "Shmem", "Mlocked", "SwapTotal")
    root = write(tmp_path, {"proc/meminfo": "".join(f"{name}: ? kB\n" for name in names)})
    assert Finding("memory", "9 metrics of memory, such as total_bytes", "N/A", "") in found(root)


def test_cpus_that_are_switched_off_are_told(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {"sys/devices/system/cpu/online": "4-20\n", "sys/devices/system/cpu/present": "0-21\n"},
    )
    remedy = "echo 1 | sudo tee /sys/devices/system/cpu/cpu{{0..3},21}/online"
    assert Finding("cpu", "CPU 0-3, 21", "offline", remedy) in found(root)


def test_a_single_cpu_that_is_switched_off(tmp_path: Path) -> None:
    root = write(
        tmp_path, {"sys/devices/system/cpu/online": "0-2\n", "sys/devices/system/cpu/present": "0-3\n"}
    )
    assert Finding(
        "cpu", "CPU 3", "offline", "echo 1 | sudo tee /sys/devices/system/cpu/cpu3/online"
    ) in found(root)


@pytest.mark.parametrize("lists", [{}, {"sys/devices/system/cpu/online": "0-2\n"}])
def test_cpus_say_themselves_that_they_are_off_where_lists_are_missing(
    tmp_path: Path, lists: dict[str, str]
) -> None:
    cpus = {f"sys/devices/system/cpu/cpu{cpu}/online": f"{int(cpu < 3)}\n" for cpu in range(1, 5)}
    told = [one.what for one in found(write(tmp_path, cpus | lists)) if one.reason == "offline"]
    assert told == ["CPU 3-4"]


def test_a_node_that_has_memory_and_is_not_there_is_told(tmp_path: Path) -> None:
    node = "sys/devices/system/node"
    root = write(
        tmp_path,
        {
            f"{node}/has_memory": "0-1,5\n",
            f"{node}/has_cpu": "1\n",
            f"{node}/node1/numastat": "numa_hit 5\n",
        },
    )
    assert Finding("memory", "NUMA node 0, 5", "offline", "") in found(root)


def test_a_host_without_gpus_is_told(tmp_path: Path) -> None:
    told = found(write(tmp_path, {"proc/stat": STAT}))
    assert Finding("gpu", "/sys/bus/pci/devices shows no GPU", "no such device", "") in told


def test_gpus_that_nothing_is_collected_of_are_told(tmp_path: Path) -> None:
    card = "sys/devices/pci0000:00/0000:17:00.0"
    root = write(
        tmp_path,
        {
            f"{card}/class": "0x030200\n",
            f"{card}/vendor": "0x10de\n",
            "proc/driver/nvidia/gpus/0035:03:00.0/information": "Model: Tesla V100\n",
        },
    )
    what = "use, memory, power and errors of GPU 0000:17:00.0, 0035:03:00.0"
    remedy = "name a collector of your own in [agent] collectors, or judge what telegraf's nvidia_smi keeps in InfluxDB"
    assert Finding("gpu", what, "not supported", remedy) in found(root)


def test_what_all_is_refused_is_counted(tmp_path: Path) -> None:
    port = "sys/class/infiniband/mlx5_0/ports/1/counters"
    names = ("port_rcv_data", "port_xmit_data", "port_rcv_packets")
    told = found(write(tmp_path, {f"{port}/{name}": "N/A (no PMA)\n" for name in names}))
    what = "rx_bytes_per_s of mlx5_0:1, and 2 more of rdma, cannot be read"
    assert Finding("network", what, "N/A", "") in told


@contextmanager
def without_rights(folders: list[Path]) -> Iterator[None]:
    """Nobody may look into `folders`; root becomes somebody else meanwhile."""
    was = os.geteuid()
    for folder in folders:
        folder.chmod(0)
    try:
        if was == 0:
            os.seteuid(65_534)
        yield
    finally:
        os.seteuid(was)
        for folder in reversed(folders):
            folder.chmod(0o755)


@contextmanager
def surveyed(files: Mapping[str, str]) -> Iterator[Path]:
    """A tree that every user may look into, after a first survey, whose imports need root's rights."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        root = write(Path(name), {**files, "proc/stat": STAT})
        survey(settings(root))
        yield root


def test_folders_that_may_not_be_looked_into_fail_nothing() -> None:
    names = {
        "sys/fs/cgroup/init.scope/cpu.stat": "usage_usec 5\n",
        "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "7\n",
        "sys/class/net/eth0/statistics/rx_missed_errors": "0\n",
        "sys/class/nvme/nvme0/state": "live\n",
        "sys/class/powercap/intel-rapl:0/energy_uj": "5\n",
        "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "1\n",
        "sys/devices/system/cpu/cpufreq/policy0/affected_cpus": "0\n",
        "sys/block/sda/device/model": "x\n",
    }
    with surveyed({**names, "sys/fs/cgroup/cgroup.controllers": "cpu\n"}) as root:
        with without_rights([(root / path).parent for path in names]):
            told = survey(settings(root))
        assert [one for one, state in told.collectors.items() if state.state == "failed"] == []
        with without_rights([root / "sys"]):
            told = survey(settings(root))
        assert [one for one, state in told.collectors.items() if state.state == "failed"] == []
        assert Finding("agent", "all below /sys", "permission", "run the agent as root") in told.findings


def test_pipes_in_the_place_of_files_are_not_waited_for(tmp_path: Path) -> None:
    card = "sys/devices/pci0000:00/0000:00:01.0"
    places = (
        "proc/stat", "proc/interrupts", "proc/meminfo", "proc/diskstats", "proc/1/stat",
        "sys/devices/system/node/node0/cpulist", "sys/devices/system/cpu/online", "sys/block/sda/removable",
        f"{card}/numa_node", f"{card}/class", "sys/devices/system/edac/mc/mc0/dimm0/size", "dev/cpu/0/msr", "dev/nvme0",
    )  # fmt: skip
    root = write(tmp_path, {"sys/class/nvme/nvme0/state": "live\n", "sys/block/sda/device/model": "x\n"})
    for place in places:
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(root / place)
    told = survey(settings(root))
    assert [name for name, state in told.collectors.items() if state.state == "failed"] == []
    assert values(root)["nvme0 nvme_live"] == 1


def test_a_file_that_may_not_be_read_asks_for_rights_and_no_other_kernel() -> None:
    files = {
        "proc/pressure/cpu": "some avg10=0.00 total=5\n",
        "proc/schedstat": "version 15\ncpu0 0 0 0 0 0 0 1 2 3\n",
        "proc/diskstats": "8 0 sda 1 1 1 1 1 1 1 1 1 1 1\n",
        "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "7\n",
    }
    with surveyed(files) as root, without_rights([root / path for path in files]):
        told = survey(settings(root)).findings
    refused = {one.what: one.remedy for one in told if one.reason == "permission"}
    assert refused == {
        "/proc/pressure/cpu": "run the agent as root",
        "/proc/schedstat cannot be read": "run the agent as root",
        "/proc/diskstats cannot be read": "run the agent as root",
        "huge_pages of hugepages-2048kB": "run the agent as root",
    }
