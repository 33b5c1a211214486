"""Devices that a host had, and has no longer."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hostsight.errors import NoDataError, UsageError
from hostsight.settings import AgentSettings, Settings
from ingest.collector import Host
from ingest.collectors.equipment import EquipmentCollector
from ingest.equipment import Device, Memory, Remembered, missing, present, update
from ingest.survey import survey
from tests.unit.collectors.trees import Trees, read, write


def server(root: Path) -> Path:
    """Two CPUs, two NICs of their own hardware, a bridge, a disk, a stick, a GPU behind a bridge, the board's VGA, a module."""
    pci = "sys/devices/pci0000:00"
    return write(
        root,
        {
            "proc/stat": "cpu  1 2 3 4\n",
            "sys/devices/system/cpu/online": "0-1\n",
            "sys/class/net/eth0/device/vendor": "0x8086\n",
            "sys/class/net/eth1/device/vendor": "0x8086\n",
            "sys/class/net/br0/mtu": "1500\n",
            "sys/class/infiniband/mlx5_0/node_type": "1: CA\n",
            "sys/block/nvme0n1/device/model": "x\n",
            "sys/block/sda/device/model": "x\n",
            "sys/block/sda/removable": "1\n",
            "sys/block/loop0/size": "0\n",
            f"{pci}/0000:00:01.0/class": "0x060400\n",
            f"{pci}/0000:00:01.0/0000:17:00.0/class": "0x030200\n",
            f"{pci}/0000:00:01.0/0000:17:00.0/vendor": "0x10de\n",
            f"{pci}/0000:00:02.0/class": "0x030000\n",
            f"{pci}/0000:00:02.0/vendor": "0x1a03\n",
            "sys/devices/system/edac/mc/mc0/dimm0/size": "16384\n",
            "sys/devices/system/edac/mc/mc0/dimm1/size": "0\n",
        },
    )


EXPECTED = {
    Device("cpu", "cpu0"),
    Device("cpu", "cpu1"),
    Device("nic", "eth0"),
    Device("nic", "eth1"),
    Device("hca", "mlx5_0"),
    Device("disk", "nvme0n1"),
    Device("gpu", "0000:17:00.0"),
    Device("dimm", "mc0-dimm0"),
}


def test_the_devices_of_their_own_hardware_are_expected_and_no_others(tmp_path: Path) -> None:
    assert present(Host(server(tmp_path))) == EXPECTED


def test_a_captured_server_shows_its_hardware(trees: Trees) -> None:
    devices = present(Host(trees.dual_xeon))
    assert {device.name for device in devices if device.kind == "hca"} == {"mlx4_0"}
    assert {device.name for device in devices if device.kind == "disk"} == {"sda", "sdb", "sdc"}
    assert {device.name for device in devices if device.kind == "gpu"} == set()
    assert sum(device.kind == "dimm" for device in devices) == 8


@pytest.mark.parametrize(
    ("path", "metric", "subsystem", "device"),
    [
        ("sys/class/net/eth1", "missing_nics", "network", "eth1"),
        ("sys/class/infiniband/mlx5_0", "missing_hcas", "network", "mlx5_0"),
        ("sys/block/nvme0n1", "missing_disks", "storage", "nvme0n1"),
        ("sys/devices/pci0000:00/0000:00:01.0", "missing_gpus", "gpu", "0000:17:00.0"),
        ("sys/devices/system/edac/mc/mc0/dimm0", "missing_dimms", "memory", "mc0-dimm0"),
    ],
)
def test_a_lost_device_is_a_channel_and_an_event(
    tmp_path: Path, path: str, metric: str, subsystem: str, device: str
) -> None:
    root, collector = server(tmp_path), EquipmentCollector()
    before = read(collector, root)
    assert (before[f"{subsystem} host {metric}"], before[f"{subsystem} {device} device_present"]) == (0, 1)
    shutil.rmtree(root / path)
    lost = read(collector, root)
    assert (lost[f"{subsystem} host {metric}"], lost[f"{subsystem} {device} device_present"]) == (1, 0)
    assert lost[f"{subsystem} {device} device_lost"] == 1
    after = read(collector, root)
    assert after[f"{subsystem} {device} device_present"] == 0
    assert after[f"{subsystem} {device} device_lost"] != 1


def test_a_cpu_that_goes_offline_gets_a_channel_until_it_comes_back(tmp_path: Path) -> None:
    root, collector = server(tmp_path), EquipmentCollector()
    assert "cpu cpu1 device_present" not in read(collector, root)
    write(root, {"sys/devices/system/cpu/online": "0\n"})
    offline = read(collector, root)
    assert (offline["cpu host missing_cpus"], offline["cpu cpu1 device_present"]) == (1, 0)
    write(root, {"sys/devices/system/cpu/online": "0-1\n"})
    assert "cpu cpu1 device_present" not in read(collector, root)


def test_a_device_that_was_lost_while_no_agent_ran_is_missed(tmp_path: Path) -> None:
    root = server(tmp_path / "tree")
    memory = Memory(tmp_path / "equipment.json", Host(root))
    first = EquipmentCollector()
    first.memory = memory
    read(first, root)
    shutil.rmtree(root / "sys/class/net/eth1")
    second = EquipmentCollector()
    second.memory = memory
    found = read(second, root)
    assert (found["network host missing_nics"], found["network eth1 device_lost"]) == (1, 1)
    assert memory.load()[Device("nic", "eth1")].lost_ns is not None


def test_doctor_names_a_lost_device_until_it_is_forgotten(tmp_path: Path) -> None:
    root = server(tmp_path / "tree")
    memory = Memory(tmp_path / "equipment.json", Host(root))
    memory.save(update({}, present(Host(root)), 1))
    shutil.rmtree(root / "sys/class/net/eth1")
    settings = Settings(agent=AgentSettings(root=str(root)))
    finding = survey(settings, memory=memory).findings[0]
    assert (finding.subsystem, finding.what) == ("network", "network interface eth1")
    assert finding.remedy == "hostsight doctor --forget eth1"
    memory.forget("eth1")
    assert all("eth1" not in one.what for one in survey(settings, memory=memory).findings)


def test_forgetting_what_is_not_known_is_refused_with_what_is_close(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "equipment.json", Host(server(tmp_path / "tree")))
    memory.save(update({}, frozenset({Device("nic", "eth1")}), 1))
    with pytest.raises(UsageError, match="did you mean 'eth1'"):
        memory.forget("eth11")


def test_what_is_remembered_of_another_root_or_is_damaged_is_not_expected_here(tmp_path: Path) -> None:
    path = tmp_path / "equipment.json"
    Memory(path, Host(tmp_path / "a")).save(update({}, frozenset(EXPECTED), 1))
    assert Memory(path, Host(tmp_path / "b")).load() == {}
    path.write_text("{")
    assert Memory(path, Host(tmp_path / "a")).load() == {}


def test_the_time_of_a_loss_is_kept_and_ends_with_the_return() -> None:
    eth = Device("nic", "eth0")
    known = update({}, frozenset({eth}), 1)
    lost = update(known, frozenset(), 5)
    assert missing(lost, frozenset()) == [Remembered(eth, 1, 5)]
    assert update(lost, frozenset(), 9) is lost
    assert update(lost, frozenset({eth}), 12)[eth] == Remembered(eth, 1, None)


def test_a_tree_without_sys_has_no_such_channels(tmp_path: Path) -> None:
    with pytest.raises(NoDataError):
        EquipmentCollector().open(Host(write(tmp_path, {"proc/stat": "cpu 1\n"})))


def test_a_renamed_device_is_known_again_by_its_hardware(tmp_path: Path) -> None:
    root = write(tmp_path, {"proc/stat": "cpu 1\n", "sys/devices/pci0000:00/0000:3b:00.0/vendor": "0x8086\n"})
    interface = root / "sys/class/net/eth0"
    interface.mkdir(parents=True)
    (interface / "device").symlink_to("../../../devices/pci0000:00/0000:3b:00.0")
    known = update({}, present(Host(root)), 1)
    interface.rename(root / "sys/class/net/enp59s0")
    renamed = present(Host(root))
    after = update(known, renamed, 5)
    assert missing(after, renamed) == []
    assert list(after) == [Device("nic", "enp59s0", "0000:3b:00.0")]
    assert after is not known


def test_a_second_port_of_the_same_card_takes_no_place(tmp_path: Path) -> None:
    one, two = (Device("nic", name, "0000:3b:00.0") for name in ("eth0", "eth1"))
    known = update(update({}, frozenset({one}), 1), frozenset({one, two}), 2)
    assert set(known) == {one, two}
    assert [lost.device for lost in missing(update(known, frozenset({one}), 3), frozenset({one}))] == [two]
