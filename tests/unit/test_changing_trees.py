"""A host that changes under the sampler: the change costs what it must, no rate jumps, and every tick comes."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from hostsight.clock import FakeClock
from hostsight.settings import AgentSettings, Settings
from ingest.collector import Collector, Host, Tier
from ingest.collectors.cgroup import CgroupCollector
from ingest.collectors.cpu import CpuCollector
from ingest.collectors.network import NetworkCollector
from ingest.collectors.softirqs import SoftirqsCollector
from ingest.collectors.storage import StorageCollector
from ingest.sampler import Sampler
from ingest.survey import survey
from tests.unit.collectors.test_network import HEADER, line
from tests.unit.collectors.trees import Trees, write

GROUPS = "sys/fs/cgroup"


class Changing:
    """Collectors on a tree, one tick a call; a group is read with the tick, so that it needs no waiting."""

    def __init__(self, root: Path, clock: FakeClock, *collectors: Collector) -> None:
        settings = Settings(agent=AgentSettings(host="gpu01"))
        for one in collectors:
            one.tier, one.background = Tier.FAST, False  # type: ignore[attr-defined,misc]  # of this object alone
        self.root = root
        self._sampler = Sampler(collectors, Host(root), settings, clock)
        self._sampler.open()

    def tick(self, files: Mapping[str, str | bytes] | None = None) -> dict[str, float]:
        """Write `files`, tick, and give `device metric` -> value of every channel; NaN is absent."""
        write(self.root, files or {})
        tick = self._sampler.tick()
        assert self._sampler.meter.late_ticks == 0
        names = [f"{one.device} {one.metric}" for one in self._sampler.channels]
        return dict(zip(names, tick.values.tolist(), strict=True))

    @property
    def states(self) -> dict[str, str]:
        return {one.name: one.state for one in self._sampler.collectors()}


@pytest.fixture
def changing(tmp_path: Path, clock: FakeClock) -> Callable[..., Changing]:
    return lambda *collectors: Changing(tmp_path, clock, *collectors)


def stat(**cpus: int) -> dict[str, str]:
    """/proc/stat with so many ticks in user mode by CPU."""
    each = "".join(f"{name} {user} 0 0 1000 0 0 0 0 0 0\n" for name, user in cpus.items())
    return {"proc/stat": f"cpu  {sum(cpus.values())} 0 0 1000 0 0 0 0 0 0\n{each}ctxt 5\n"}


def test_a_cpu_that_goes_offline_takes_its_channels_and_comes_back_without_a_jump(
    changing: Callable[..., Changing], tmp_path: Path
) -> None:
    write(tmp_path, stat(cpu0=100, cpu1=900_000))
    tree = changing(CpuCollector())
    tree.tick()
    assert tree.tick(stat(cpu0=105, cpu1=900_005))["cpu1 busy_percent"] == pytest.approx(50)
    offline = tree.tick(stat(cpu0=110))
    assert "cpu1 busy_percent" not in offline
    assert np.nan_to_num(offline["host busy_percent"]) >= 0
    assert tree.tick(stat(cpu0=115))["cpu0 busy_percent"] == pytest.approx(50)
    back = tree.tick(stat(cpu0=120, cpu1=900_100))
    assert np.isnan(back["cpu1 busy_percent"])
    assert tree.tick(stat(cpu0=125, cpu1=900_105))["cpu1 busy_percent"] == pytest.approx(50)
    assert tree.states == {"cpu": "ok"}


def test_a_cpu_that_goes_offline_leaves_the_counts_of_the_others_where_they_were(
    changing: Callable[..., Changing], tmp_path: Path
) -> None:
    """The column of a CPU vanishes from the middle of the table."""
    write(tmp_path, {"proc/softirqs": "  CPU0 CPU1 CPU2\n NET_RX: 10 20 3000\n"})
    tree = changing(SoftirqsCollector())
    tree.tick()
    tree.tick({"proc/softirqs": "  CPU0 CPU2\n NET_RX: 10 3000\n"})
    values = tree.tick({"proc/softirqs": "  CPU0 CPU2\n NET_RX: 11 3002\n"})
    finite = {name: value for name, value in values.items() if np.isfinite(value)}
    assert finite["cpu2 softirqs_per_s"] == pytest.approx(20)
    assert max(finite.values()) == pytest.approx(30)


def test_a_renamed_interface_goes_on_under_its_new_name(
    changing: Callable[..., Changing], tmp_path: Path
) -> None:
    write(tmp_path, {"proc/net/dev": HEADER + line("eth0", 5_000_000)})
    tree = changing(NetworkCollector())
    tree.tick()
    renamed = tree.tick({"proc/net/dev": HEADER + line("enp3s0f0", 5_000_100)})
    assert "eth0 rx_bytes_per_s" not in renamed
    assert np.isnan(renamed["enp3s0f0 rx_bytes_per_s"])
    later = tree.tick({"proc/net/dev": HEADER + line("enp3s0f0", 5_000_200)})
    assert later["enp3s0f0 rx_bytes_per_s"] == pytest.approx(1_000)


def test_a_driver_that_is_loaded_anew_counts_from_zero_without_a_negative_rate(
    changing: Callable[..., Changing], tmp_path: Path
) -> None:
    write(tmp_path, {"proc/net/dev": HEADER + line("lo", 1) + line("eth0", 8_000)})
    tree = changing(NetworkCollector())
    tree.tick()
    assert "eth0 rx_bytes_per_s" not in tree.tick({"proc/net/dev": HEADER + line("lo", 1)})
    again = HEADER + line("lo", 1) + line("eth0", 7)
    tree.tick({"proc/net/dev": again})
    # an absent collector is looked for again within a minute
    values = [tree.tick() for _ in range(620)][-1]
    assert values["eth0 rx_bytes_per_s"] == 0
    busy = tree.tick({"proc/net/dev": again.replace("eth0: 7", "eth0: 57")})
    assert busy["eth0 rx_bytes_per_s"] == pytest.approx(500)


def test_a_disk_that_is_pulled_takes_its_channels_and_no_others(
    changing: Callable[..., Changing], tmp_path: Path
) -> None:
    def disks(sda: int, sdb: int | None) -> dict[str, str]:
        lines = [("sda", 0, sda), *([("sdb", 16, sdb)] if sdb is not None else [])]
        return {
            "proc/diskstats": "".join(
                f"8 {minor} {name} {n} 0 {n} 1 0 0 0 0 0 1 1\n" for name, minor, n in lines
            )
        }

    write(tmp_path, disks(10, 500))
    tree = changing(StorageCollector())
    tree.tick()
    assert tree.tick(disks(11, 510))["sdb reads_per_s"] == pytest.approx(100)
    pulled = tree.tick(disks(12, None))
    assert not [name for name in pulled if name.startswith("sdb ")]
    assert tree.tick(disks(13, None))["sda reads_per_s"] == pytest.approx(10)
    back = tree.tick(disks(14, 3))
    assert np.isnan(back["sdb reads_per_s"])
    assert tree.states == {"storage": "ok"}


def groups(usage: int) -> dict[str, str]:
    return {
        f"{GROUPS}/cgroup.controllers": "cpu memory\n",
        f"{GROUPS}/system.slice/cpu.stat": f"usage_usec {usage}\nuser_usec {usage}\nsystem_usec 0\n",
        f"{GROUPS}/system.slice/memory.current": "4096\n",
    }


def test_a_daemon_reload_that_makes_groups_anew_neither_fails_nor_counts_back(
    changing: Callable[..., Changing], tmp_path: Path
) -> None:
    """systemd moves units between groups, so that a folder vanishes and comes back with its counters at zero."""
    write(tmp_path, groups(90_000_000))
    tree = changing(CgroupCollector())
    tree.tick()
    assert tree.tick(groups(90_050_000))["system.slice cgroup_cpu_percent"] == pytest.approx(50)
    shutil.rmtree(tmp_path / GROUPS / "system.slice")
    tree.tick()
    seen = [tree.tick(groups(1_000 * step)) for step in range(1, 700)]
    rates = [values.get("system.slice cgroup_cpu_percent", np.nan) for values in seen]
    assert np.nanmax(rates) <= 1.01
    assert np.nanmin(rates) >= 0
    assert rates[-1] == pytest.approx(1)


def test_masked_files_of_a_container_are_absent_and_named_and_the_rest_is_collected(
    trees: Trees, tmp_path: Path
) -> None:
    """Container runtimes lay empty files and folders, or /dev/null, over what a guest must not see."""
    root = tmp_path / "tree"
    shutil.copytree(trees.prometheus / "proc", root / "proc", symlinks=True)
    for name in ("interrupts", "diskstats", "meminfo"):
        (root / "proc" / name).unlink(missing_ok=True)
        (root / "proc" / name).touch()
    (root / "proc/vmstat").unlink(missing_ok=True)
    (root / "proc/vmstat").symlink_to("/dev/null")
    shutil.rmtree(root / "proc/net", ignore_errors=True)
    (root / "proc/net").mkdir()
    found = survey(Settings(agent=AgentSettings(root=str(root))))
    assert found.collectors["cpu"].state == "ok"
    for name in ("interrupts", "storage", "memory", "vmstat", "network", "tcp"):
        assert found.collectors[name].state == "absent", name
    assert "failed" not in {one.state for one in found.collectors.values()}
    assert {"network", "storage", "memory"} <= {one.subsystem for one in found.findings}


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that any user may enter."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def test_files_that_the_user_may_not_read_are_named_with_permission_as_the_reason(open_folder: Path) -> None:
    root = write(
        open_folder, {**stat(cpu0=1), "proc/meminfo": "MemTotal: 5 kB\n", "proc/vmstat": "pgfault 1\n"}
    )
    settings = Settings(agent=AgentSettings(root=str(root)))
    assert survey(settings).collectors["memory"].state == "ok"  # and everything that root alone may import is
    (root / "proc/meminfo").chmod(0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65_534)
    try:
        found = survey(settings)
    finally:
        os.seteuid(user)
    assert (found.collectors["memory"].state, found.collectors["memory"].reason) == ("absent", "permission")
    assert (found.collectors["cpu"].state, found.collectors["vmstat"].state) == ("ok", "ok")
