"""Bytes that memory controllers move."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hostsight.errors import NoDataError
from ingest.collector import Host
from ingest.collectors.perf_memory import PerfMemoryCollector
from ingest.perf.event import Event
from tests.unit.perf.fakes import FakePerf, pmu, tree

DEVICES = "sys/bus/event_source/devices"
UNCORE_FORMAT = {"event": "config:0-7", "umask": "config:8-15"}
CAS = {
    "cas_count_read": "event=0x04,umask=0x03",
    "cas_count_read.scale": "6.103515625e-5",
    "cas_count_read.unit": "MiB",
    "cas_count_write": "event=0x04,umask=0x0c",
    "cas_count_write.scale": "6.103515625e-5",
    "cas_count_write.unit": "MiB",
}
AMD = "processor : 0\nvendor_id : AuthenticAMD\ncpu family : 25\nmodel : {}\n"


def sockets(nodes_each: int = 1) -> dict[str, str]:
    """Two packages of two CPUs each; CPU numbers alternate between them."""
    files = {
        f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id": f"{cpu % 2}\n" for cpu in range(4)
    }
    nodes = {0: "0,2", 1: "1,3"} if nodes_each == 1 else {0: "0", 1: "2", 2: "1", 3: "3"}
    return files | {f"sys/devices/system/node/node{node}/cpulist": cpus for node, cpus in nodes.items()}


def controllers(count: int) -> dict[str, str]:
    files: dict[str, str] = {}
    for number in range(count):
        files |= pmu(f"{DEVICES}/uncore_imc_{number}", 20 + number, UNCORE_FORMAT, CAS, "0-1")
    return files


def read(perf: FakePerf, root: Path) -> dict[str, float]:
    collector = PerfMemoryCollector(perf)
    slots = collector.open(Host(root))
    assert {slot.subsystem for slot in slots} == {"memory"}
    perf.advance(2.0)
    out = np.full(len(slots), np.nan)
    assert collector.read(out)
    collector.close()
    assert perf.opened == {}
    return {f"{slot.device} {slot.metric.name}": float(value) for slot, value in zip(slots, out, strict=True)}


def test_reads_and_writes_of_all_channels_by_node(tmp_path: Path) -> None:
    perf = FakePerf({})
    for number in (20, 21):
        perf.rates |= {(Event(number, 0x304), 0): 1e8, (Event(number, 0x304), 1): 2e8}
        perf.rates |= {(Event(number, 0xC04), cpu): 5e7 for cpu in (0, 1)}
    values = read(perf, tree(tmp_path, {**sockets(), **controllers(2)}))
    assert values["node0 memory_read_bytes_per_s"] == 2 * 64e8
    assert values["node1 memory_read_bytes_per_s"] == 4 * 64e8
    assert values["node1 memory_write_bytes_per_s"] == 2 * 5e7 * 64
    assert values["host memory_read_bytes_per_s"] == 6 * 64e8
    assert values["host memory_moved_bytes_per_s"] == 6 * 64e8 + 4 * 5e7 * 64
    assert len(values) == 9


def test_a_package_of_several_nodes_is_shown_as_a_package(tmp_path: Path) -> None:
    perf = FakePerf({Event(20, 0x304): 1e8, Event(20, 0xC04): 1e8})
    values = read(perf, tree(tmp_path, {**sockets(nodes_each=2), **controllers(1)}))
    assert {name.split()[0] for name in values} == {"host", "package0", "package1"}
    assert values["package1 memory_write_bytes_per_s"] == 64e8


def test_amd_controllers_count_commands_of_64_bytes(tmp_path: Path) -> None:
    files = pmu(f"{DEVICES}/amd_umc_0", 30, {"event": "config:0-7", "rdwrmask": "config:8-9"}, {}, "0")
    files |= {"proc/cpuinfo": AMD.format(17)}
    values = read(
        FakePerf({Event(30, 0x10A): 3e7, Event(30, 0x20A): 1e7}), tree(tmp_path, {**sockets(), **files})
    )
    assert values["node0 memory_read_bytes_per_s"] == 3e7 * 64
    assert values["node0 memory_write_bytes_per_s"] == 1e7 * 64


def test_the_data_fabric_gives_both_ways_together(tmp_path: Path) -> None:
    formats = {"event": "config:0-7,32-35,59-60", "umask": "config:8-15"}
    files = {**pmu(f"{DEVICES}/amd_df", 31, formats, {}, "0-1"), "proc/cpuinfo": AMD.format(1)}
    low = [Event(31, 0x3800 | code) for code in (0x07, 0x47, 0x87, 0xC7)]
    high = [Event(31, event.config | 1 << 32) for event in low]
    perf = FakePerf(dict.fromkeys([*low, *high], 1e6), counters=4)
    values = read(perf, tree(tmp_path, {**sockets(), **files}))
    assert values == {
        "host memory_moved_bytes_per_s": 16e6 * 64,
        "node0 memory_moved_bytes_per_s": 8e6 * 64,
        "node1 memory_moved_bytes_per_s": 8e6 * 64,
    }


def test_a_later_processor_s_data_fabric_is_left_alone(tmp_path: Path) -> None:
    formats = {"event": "config:0-7,32-37", "umask": "config:8-15,24-27"}
    files = {**pmu(f"{DEVICES}/amd_df", 31, formats, {}, "0"), "proc/cpuinfo": AMD.format(17)}
    with pytest.raises(NoDataError) as raised:
        PerfMemoryCollector(FakePerf({})).open(Host(tree(tmp_path, files)))
    assert raised.value.remedy == "modprobe amd-uncore"


def test_grace_reads_in_beats_and_writes_in_bytes(tmp_path: Path) -> None:
    events = {"cmem_rd_data": "event=0x1a5", "cmem_wr_total_bytes": "event=0x1db"}
    files = {
        **pmu(f"{DEVICES}/nvidia_scf_pmu_0", 40, {"event": "config:0-31"}, events, "0"),
        "sys/devices/system/cpu/cpu0/regs/identification/midr_el1": "0x00000000410fd4f0\n",
    }
    values = read(
        FakePerf({Event(40, 0x1A5): 1e9, Event(40, 0x1DB): 7e9}), tree(tmp_path, {**sockets(), **files})
    )
    assert values["node0 memory_read_bytes_per_s"] == 32e9
    assert values["node0 memory_write_bytes_per_s"] == 7e9


def test_a_controller_that_does_not_say_its_unit_is_not_guessed_at(tmp_path: Path) -> None:
    events = {name: text for name, text in CAS.items() if name != "cas_count_write.unit"}
    events["cas_count_write.unit"] = "pages"
    files = pmu(f"{DEVICES}/uncore_imc_0", 20, UNCORE_FORMAT, events, "0")
    with pytest.raises(NoDataError, match="no memory controller"):
        PerfMemoryCollector(FakePerf({})).open(Host(tree(tmp_path, files)))


def test_a_host_without_controllers_has_no_data(tmp_path: Path) -> None:
    guest = {"proc/cpuinfo": "processor : 0\nflags : hypervisor\n"}
    with pytest.raises(NoDataError, match="usual in a virtual machine"):
        PerfMemoryCollector(FakePerf({})).open(Host(tree(tmp_path, guest)))


def test_controllers_that_refuse_leave_nothing_open(tmp_path: Path) -> None:
    perf = FakePerf({Event(20, 0x304): 1.0, Event(20, 0xC04): 1.0}, descriptors=5)
    with pytest.raises(NoDataError):
        PerfMemoryCollector(perf).open(Host(tree(tmp_path, {**sockets(), **controllers(2)})))
    assert perf.opened == {}


def test_a_captured_tree_is_not_counted(tmp_path: Path) -> None:
    with pytest.raises(NoDataError, match="cannot be counted in a tree of files"):
        PerfMemoryCollector(FakePerf({})).open(Host(tree(tmp_path, controllers(1), here=False)))


def _rates(count: int) -> dict[Event | tuple[Event, int], float]:
    return {Event(20 + number, config): 1e8 for number in range(count) for config in (0x304, 0xC04)}


def test_too_few_descriptors_for_all_controllers_are_told(tmp_path: Path) -> None:
    collector = PerfMemoryCollector(FakePerf(_rates(4), descriptors=20))
    collector.open(Host(tree(tmp_path, sockets() | controllers(4))))
    (gap,) = collector.absent()
    assert gap[0].endswith("7 of 8 take turns")
    assert gap[1] == "too few descriptors"
    collector.close()


def test_enough_descriptors_leave_nothing_to_tell(tmp_path: Path) -> None:
    collector = PerfMemoryCollector(FakePerf(_rates(4)))
    collector.open(Host(tree(tmp_path, sockets() | controllers(4))))
    assert collector.absent() == ()
    collector.close()
