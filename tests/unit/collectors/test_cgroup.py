"""Groups of processes, version 1 and 2."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from hostsight.errors import NoDataError
from ingest.collector import Host
from ingest.collectors.cgroup import LOOK_AGAIN, CgroupCollector, Throttled
from tests.unit.collectors.trees import Trees, read, write

ROOT = "sys/fs/cgroup"


def group(name: str, usage: int = 1, quota: str = "max", throttled: int = 0, us: int = 0) -> dict[str, str]:
    return {
        f"{ROOT}/cgroup.controllers": "cpu memory\n",
        f"{ROOT}/{name}/cpu.max": f"{quota} 100000\n",
        f"{ROOT}/{name}/cpu.stat": f"usage_usec {usage}\nnr_periods 100\nnr_throttled {throttled}\nthrottled_usec {us}\n",
    }


def test_time_of_slices(trees: Trees) -> None:
    values = read(CgroupCollector(), trees.tar("cgroup-v2"))
    assert {key.split()[1] for key in values} == {"system.slice", "user.slice", "machine.slice", "init.scope"}
    of_one_second = 1e-4  # microseconds as percent of a second
    assert values["cpu system.slice cgroup_cpu_percent"] == pytest.approx(159_101_593_799 * of_one_second)
    assert values["cpu system.slice cgroup_user_percent"] == pytest.approx(134_753_168_486 * of_one_second)
    assert values["cpu system.slice cgroup_system_percent"] == pytest.approx(24_348_425_313 * of_one_second)
    assert values["cpu user.slice cgroup_cpu_percent"] == pytest.approx(137_104_074_152 * of_one_second)
    assert values["cpu init.scope cgroup_user_percent"] == pytest.approx(77_597_855 * of_one_second)
    assert values["cpu user.slice cgroup_tasks"] == 873
    assert values["cpu machine.slice cgroup_tasks"] == 0


def test_memory_of_slices(trees: Trees) -> None:
    values = read(CgroupCollector(), trees.tar("cgroup-v2"))
    assert values["memory user.slice cgroup_memory_bytes"] == 7_924_121_600
    assert values["memory machine.slice cgroup_memory_bytes"] == 61_440
    assert values["memory system.slice cgroup_out_of_memory_kills_per_s"] == 5
    assert values["memory user.slice cgroup_out_of_memory_kills_per_s"] == 0
    assert values["memory system.slice cgroup_memory_max_events_per_s"] == 0


def test_what_slices_wait_for(trees: Trees) -> None:
    values = read(CgroupCollector(), trees.tar("cgroup-v2"))
    assert values["cpu user.slice cgroup_cpu_pressure_some_percent"] == pytest.approx(15_338.7907)
    assert values["memory init.scope cgroup_memory_pressure_some_percent"] == pytest.approx(2_041.7169)
    assert values["memory init.scope cgroup_memory_pressure_full_percent"] == pytest.approx(2_003.7194)
    assert values["storage system.slice cgroup_storage_pressure_some_percent"] == pytest.approx(
        1_875_053.8685
    )
    assert values["storage system.slice cgroup_storage_pressure_full_percent"] == pytest.approx(
        1_872_048.2289
    )


def test_bytes_are_counted_on_the_disk_and_not_again_on_what_is_stacked_upon_it(trees: Trees) -> None:
    values = read(CgroupCollector(), trees.tar("cgroup-v2"))  # 253:* are dm-*, 8:0 is sda
    assert values["storage user.slice cgroup_read_bytes_per_s"] == 201_847_988_224
    assert values["storage user.slice cgroup_write_bytes_per_s"] == 2_310_724_935_680
    assert values["storage machine.slice cgroup_write_bytes_per_s"] == 270_336


def test_the_first_version(trees: Trees) -> None:
    values = read(CgroupCollector(), trees.tar("cgroup-v1"))
    assert {key.split()[1] for key in values} == {"system.slice", "user.slice"}
    assert values["cpu system.slice cgroup_cpu_percent"] == pytest.approx(
        22.7019619
    )  # 0.227 s, of one second
    assert values["cpu user.slice cgroup_cpu_percent"] == pytest.approx(0.0041011)
    assert values["cpu system.slice cgroup_user_percent"] == pytest.approx(6)  # ticks of 10 ms
    assert values["cpu system.slice cgroup_system_percent"] == pytest.approx(13)
    assert values["memory system.slice cgroup_memory_bytes"] == 9_977_856
    assert values["memory system.slice cgroup_memory_max_events_per_s"] == 0
    assert values["storage system.slice cgroup_read_bytes_per_s"] == 188_416
    assert values["storage system.slice cgroup_write_bytes_per_s"] == 4096
    assert values["storage user.slice cgroup_read_bytes_per_s"] == 135_168
    assert (
        "memory system.slice cgroup_out_of_memory_kills_per_s" not in values
    )  # Linux 3.18 does not count them


def test_throttling_is_summed_over_all_groups_below(tmp_path: Path) -> None:
    pods = group("kubepods.slice") | group("kubepods.slice/a", quota="50000", throttled=7, us=20_000)
    pods |= group("kubepods.slice/b/c", quota="200000", throttled=3, us=5_000) | group(
        "kubepods.slice/d", throttled=99
    )
    values = read(CgroupCollector(), write(tmp_path, pods))
    assert values["cpu kubepods.slice cgroup_throttled_periods_per_s"] == 10
    assert values["cpu kubepods.slice cgroup_limited_periods_per_s"] == 200
    assert values["cpu kubepods.slice cgroup_throttled_percent"] == pytest.approx(2.5)


def test_throttling_of_the_first_version_is_in_nanoseconds(tmp_path: Path) -> None:
    files = {
        "cpu.cfs_quota_us": "50000\n",
        "cpu.stat": "nr_periods 8\nnr_throttled 2\nthrottled_time 30000000\n",
    }
    write(tmp_path, {f"{ROOT}/cpu,cpuacct/docker/{name}": text for name, text in files.items()})
    values = read(CgroupCollector(), tmp_path)
    assert values["cpu docker cgroup_throttled_periods_per_s"] == 2
    assert values["cpu docker cgroup_throttled_percent"] == pytest.approx(3)


def test_groups_that_come_and_go_neither_add_nor_take_what_they_counted_before(tmp_path: Path) -> None:
    write(
        tmp_path,
        group("s.slice")
        | group("s.slice/a", quota="1", throttled=50)
        | group("s.slice/b", quota="1", throttled=5),
    )
    count = Throttled(tmp_path / ROOT / "s.slice", "cpu.max")
    assert count(b"")[1] == 55
    shutil.rmtree(tmp_path / ROOT / "s.slice/a")
    write(
        tmp_path, group("s.slice/b", quota="1", throttled=6) | group("s.slice/c", quota="1", throttled=1000)
    )
    assert [count(b"")[1] for _ in range(LOOK_AGAIN)] == [56] * LOOK_AGAIN
    write(tmp_path, group("s.slice/c", quota="1", throttled=1004))
    assert count(b"")[1] == 60


def test_the_busiest_groups_when_there_are_many(tmp_path: Path) -> None:
    for at in range(20):
        write(tmp_path, group(f"g{at}", usage=at))
    slots = CgroupCollector().open(Host(tmp_path))
    assert {slot.device for slot in slots} == {f"g{at}" for at in range(4, 20)}


def test_a_new_group_changes_the_layout(tmp_path: Path) -> None:
    collector = CgroupCollector()
    out = np.empty(len(collector.open(Host(write(tmp_path, group("a.slice"))))))
    assert collector.read(out)
    write(tmp_path, group("b.slice"))
    assert not collector.read(out)


def test_no_group(tmp_path: Path) -> None:
    with pytest.raises(NoDataError):
        CgroupCollector().open(Host(tmp_path))


def test_groups_mounted_elsewhere_are_named(tmp_path: Path) -> None:
    mounts = (
        "none /cgroup/cpu cgroup rw,cpu 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\nnone /tmp tmpfs rw 0 0\n"
    )
    with pytest.raises(NoDataError, match="mounted at /cgroup/cpu and not below") as raised:
        CgroupCollector().open(Host(write(tmp_path, {"proc/mounts": mounts})))
    assert raised.value.reason == "not supported"


def test_stacked_disks_are_known_however_many_come_before(tmp_path: Path) -> None:
    disks = "".join(f"   8 {at} sd{at} 1 1 1 1 1 1 1 1 1 1 1\n" for at in range(2000)) + " 253 0 dm-0 1 1 1\n"
    io = "8:0 rbytes=5 wbytes=7\n253:0 rbytes=5 wbytes=7\n"
    files = group("a.slice") | {"proc/diskstats": disks, f"{ROOT}/a.slice/io.stat": io}
    values = read(CgroupCollector(), write(tmp_path, files))
    assert values["storage a.slice cgroup_read_bytes_per_s"] == 5
    assert values["storage a.slice cgroup_write_bytes_per_s"] == 7
