"""Counters of cores and the kernel, shown by host, node and CPU."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from hostsight.errors import NoDataError
from ingest.collector import Collector, Host, Slot, Tier, in_background, tier_on
from ingest.collectors.cpuevents import CpuEventsCollector
from ingest.collectors.perf import PerfCollector
from ingest.collectors.perf_software import PerfSoftwareCollector
from ingest.perf.event import GENERIC, Event
from tests.unit.collectors.trees import Trees, write
from tests.unit.perf.fakes import CPU_PMU, X86_FORMAT, FakePerf, pmu, tree

NODES = {f"sys/devices/system/node/node{node}/cpulist": f"{2 * node}-{2 * node + 1}\n" for node in (0, 1)}
SAPPHIRE_RAPIDS = {
    "proc/cpuinfo": "processor : 0\nvendor_id : GenuineIntel\ncpu family : 6\nmodel : 143\nflags : fpu\n",
    **pmu(CPU_PMU, 4, X86_FORMAT),
}
STALLS, MEMORY_STALLS, WALKS = Event(4, 0x040004A3), Event(4, 0x050021A6), Event(4, 0x0E12)
CYCLES = GENERIC["cpu-cycles"]
HARDWARE: dict[Event | tuple[Event, int], float] = {
    CYCLES: 3e9,
    GENERIC["instructions"]: 4.5e9,
    GENERIC["branch-instructions"]: 8e8,
    GENERIC["branch-misses"]: 4e6,
    GENERIC["cache-references"]: 2e7,
    GENERIC["cache-misses"]: 5e6,
    STALLS: 1.2e9,
    MEMORY_STALLS: 9e8,
    WALKS: 6e6,
}
SOFTWARE: dict[Event | tuple[Event, int], float] = {
    GENERIC["context-switches"]: 900,
    GENERIC["cpu-migrations"]: 12,
    GENERIC["page-faults"]: 5000,
    GENERIC["alignment-faults"]: 0,
    GENERIC["emulation-faults"]: 3,
}


def reading(collector: CpuEventsCollector, slots: list[Slot], perf: FakePerf) -> dict[str, float]:
    """After a second: device and metric -> value, finite ones alone."""
    perf.advance(1.0)
    out = np.full(len(slots), np.nan)
    assert collector.read(out)
    named = {
        f"{slot.device} {slot.metric.name}": float(value) for slot, value in zip(slots, out, strict=True)
    }
    return {name: value for name, value in named.items() if np.isfinite(value)}


def opened(collector: Collector, root: Path, per_cpu: int = 64) -> list[Slot]:
    return [*collector.open(Host(root, per_cpu))]


def test_a_xeon_counts_by_its_own_table(tmp_path: Path) -> None:
    perf = FakePerf(HARDWARE)
    collector = PerfCollector(perf)
    slots = opened(collector, tree(tmp_path, SAPPHIRE_RAPIDS, online="0-1"))
    assert len(perf.groups(cpu=0)) == 3
    values = reading(collector, slots, perf)
    assert values["cpu0 cycles_per_s"] == 3e9
    assert values["cpu1 instructions_per_s"] == 4.5e9
    assert values["host instructions_per_s"] == 9e9
    assert values["cpu0 branches_per_s"] == 8e8
    assert values["cpu0 branch_misses_per_s"] == 4e6
    assert values["cpu0 stalled_cycles_per_s"] == 1.2e9
    assert values["cpu1 memory_stalled_cycles_per_s"] == 9e8
    assert values["host cache_references_per_s"] == 4e7
    assert values["host cache_misses_per_s"] == 1e7
    assert values["cpu0 dtlb_walks_per_s"] == 6e6
    assert len(values) == 9 * 3


def test_slots_of_empty_operation_are_shown_as_cycles(tmp_path: Path) -> None:
    genoa = {
        "proc/cpuinfo": "processor : 0\nvendor_id : AuthenticAMD\ncpu family : 25\nmodel : 17\n",
        **pmu(CPU_PMU, 4, {"event": "config:0-7,32-35", "umask": "config:8-15"}),
    }
    frontend, backend = Event(4, 0x1_0000_01A0), Event(4, 0x1_0000_1EA0)
    perf = FakePerf({CYCLES: 2e9, frontend: 1.2e9, backend: 4.8e9})
    collector = PerfCollector(perf)
    values = reading(collector, opened(collector, tree(tmp_path, genoa, online="0")), perf)
    assert values["cpu0 stalled_cycles_per_s"] == pytest.approx(1e9)
    assert values["cpu0 frontend_stalled_cycles_per_s"] == pytest.approx(2e8)


def test_a_metric_whose_event_is_refused_is_left_out_and_named(tmp_path: Path) -> None:
    perf = FakePerf({event: rate for event, rate in HARDWARE.items() if event != MEMORY_STALLS})
    collector = PerfCollector(perf)
    slots = opened(collector, tree(tmp_path, SAPPHIRE_RAPIDS))
    assert "memory_stalled_cycles_per_s" not in {slot.metric.name for slot in slots}
    assert collector.absent() == (("hardware events: memory_stalls", "no such device", ""),)


def test_without_a_core_pmu_the_kernel_s_generic_events_are_tried(tmp_path: Path) -> None:
    perf = FakePerf({CYCLES: 1e9, GENERIC["instructions"]: 2e9})
    collector = PerfCollector(perf)
    slots = opened(collector, tree(tmp_path, {"proc/cpuinfo": "processor : 0\n"}, online="0"))
    assert reading(collector, slots, perf)["host instructions_per_s"] == 2e9
    assert {slot.metric.name for slot in slots} == {"cycles_per_s", "instructions_per_s"}


def test_software_events_of_the_host_are_those_that_no_other_collector_gives(tmp_path: Path) -> None:
    perf = FakePerf(SOFTWARE)
    collector = PerfSoftwareCollector(perf)
    values = reading(collector, opened(collector, tree(tmp_path, {}, online="0,2")), perf)
    assert values == {
        "host cpu_migrations_per_s": 24,
        "host alignment_faults_per_s": 0,
        "host emulation_faults_per_s": 6,
        **{f"cpu{cpu} context_switches_per_s": 900 for cpu in (0, 2)},
        **{f"cpu{cpu} cpu_migrations_per_s": 12 for cpu in (0, 2)},
        **{f"cpu{cpu} page_faults_per_s": 5000 for cpu in (0, 2)},
    }


def test_a_large_host_is_shown_by_node(tmp_path: Path) -> None:
    rates: Mapping[Event | tuple[Event, int], float] = {
        (event, cpu): 10.0 * cpu for event in SOFTWARE if isinstance(event, Event) for cpu in range(4)
    }
    perf = FakePerf(dict(rates))
    collector = PerfSoftwareCollector(perf)
    values = reading(collector, opened(collector, tree(tmp_path, NODES), per_cpu=3), perf)
    assert values["node0 context_switches_per_s"] == 10
    assert values["node1 context_switches_per_s"] == 50
    assert values["host cpu_migrations_per_s"] == 60
    assert not [name for name in values if name.startswith("cpu")]


def test_while_cpus_take_turns_sums_are_of_each_one_s_last(tmp_path: Path) -> None:
    perf = FakePerf(dict(SOFTWARE), descriptors=30)
    collector = PerfSoftwareCollector(perf)
    slots = opened(collector, tree(tmp_path, NODES))
    assert perf.cpus() == [0, 1]
    first = reading(collector, slots, perf)
    assert "host cpu_migrations_per_s" not in first, "half of the CPUs have not been counted yet"
    assert first["node0 page_faults_per_s"] == 10_000
    assert {name for name in first if "page" in name} == {
        f"{one} page_faults_per_s" for one in ("cpu0", "cpu1", "node0")
    }
    perf.rates[GENERIC["cpu-migrations"]] = 20.0
    second = reading(collector, slots, perf)
    assert second["host cpu_migrations_per_s"] == 12 + 12 + 20 + 20
    assert second["cpu3 cpu_migrations_per_s"] == 20
    assert "cpu0 cpu_migrations_per_s" not in second
    ((what, reason, remedy),) = collector.absent()
    assert what.endswith("2 of 4 take turns")
    assert reason == "too few descriptors"
    assert "LimitNOFILE" in remedy


def test_a_held_counter_is_told_of(tmp_path: Path) -> None:
    perf = FakePerf(HARDWARE, counters=4, taken=1)
    collector = PerfCollector(perf)
    slots = opened(collector, tree(tmp_path, SAPPHIRE_RAPIDS, online="0"))
    for _ in range(3):
        assert "host cycles_per_s" not in reading(collector, slots, perf)
    assert reading(collector, slots, perf)["host cycles_per_s"] == 3e9
    assert "others hold some counters" in collector.absent()[-1][0]


def test_a_cpu_that_comes_or_goes_has_the_counters_opened_anew(tmp_path: Path) -> None:
    perf = FakePerf(SOFTWARE)
    collector = PerfSoftwareCollector(perf)
    root = tree(tmp_path, {}, online="0-1")
    out = np.full(len(opened(collector, root)), np.nan)
    tree(tmp_path, {}, online="0")
    assert not collector.read(out)
    assert {slot.device for slot in opened(collector, root)} == {"host", "cpu0"}
    assert perf.cpus() == [0]


def test_a_refusal_is_no_data_with_its_remedy(tmp_path: Path) -> None:
    perf = FakePerf(HARDWARE, refuses=errno.EACCES)
    with pytest.raises(NoDataError) as raised:
        opened(PerfCollector(perf), tree(tmp_path, SAPPHIRE_RAPIDS))
    assert raised.value.reason == "permission"
    assert raised.value.remedy == "sysctl -w kernel.perf_event_paranoid=0"
    assert perf.opened == {}


@pytest.mark.parametrize("kind", [PerfCollector, PerfSoftwareCollector])
def test_a_captured_tree_is_not_counted(kind: type[CpuEventsCollector], trees: Trees, tmp_path: Path) -> None:
    perf = FakePerf({**HARDWARE, **SOFTWARE})
    for root in (trees.dual_xeon, tree(tmp_path, SAPPHIRE_RAPIDS, here=False)):
        with pytest.raises(NoDataError, match="cannot be counted in a tree of files"):
            kind(perf).open(Host(root))
    assert perf.opened == {}


@pytest.mark.parametrize("online", ["", "none", "\xff", "-"])
def test_a_host_that_names_no_cpu_has_no_data(online: str, tmp_path: Path) -> None:
    with pytest.raises(NoDataError, match="names no CPU"):
        opened(PerfSoftwareCollector(FakePerf(SOFTWARE)), tree(tmp_path, {}, online=online))


def test_hostile_formats_cost_events_and_nothing_else(tmp_path: Path) -> None:
    hostile = dict.fromkeys(X86_FORMAT, "config:999999999999,x-y,,-")
    files = {**SAPPHIRE_RAPIDS, **pmu(CPU_PMU, 4, hostile)}
    collector = PerfCollector(FakePerf(HARDWARE))
    slots = opened(collector, tree(tmp_path, files))
    assert {slot.metric.name for slot in slots} >= {"cycles_per_s", "instructions_per_s"}
    assert ("hardware events: stalls", "not supported", "") in collector.absent()


def test_closing_twice_leaves_nothing_open(tmp_path: Path) -> None:
    perf = FakePerf(SOFTWARE)
    collector = PerfSoftwareCollector(perf)
    opened(collector, tree(tmp_path, {}))
    collector.close()
    collector.close()
    assert perf.opened == {}
    assert not collector.read(np.empty(0))


@pytest.mark.parametrize("kind", [PerfCollector, PerfSoftwareCollector])
def test_counters_are_read_apart_from_the_tick(kind: type[CpuEventsCollector]) -> None:
    assert in_background(kind())


def test_a_host_of_many_cpus_is_read_rarely(tmp_path: Path) -> None:
    root = tree(tmp_path, {}, online="0-1,4")
    assert tier_on(PerfCollector(), Host(root, per_cpu_limit=3)) is Tier.MEDIUM
    assert tier_on(PerfCollector(), Host(root, per_cpu_limit=2)) is Tier.SLOW
    assert tier_on(PerfCollector(), Host(tmp_path / "nothing")) is Tier.MEDIUM


def test_this_machine_counts_its_own_context_switches() -> None:
    collector = PerfSoftwareCollector()
    try:
        slots = collector.open(Host(Path("/")))
    except NoDataError as error:
        pytest.skip(str(error))
    collector.close()
    assert {slot.metric for slot in slots} <= set(collector.metrics)


def test_an_arm_server_counts_by_its_table(tmp_path: Path) -> None:
    grace = {
        "sys/devices/system/cpu/cpu0/regs/identification/midr_el1": "0x00000000410fd4f0\n",
        **pmu("sys/bus/event_source/devices/armv8_pmuv3_0", 10, {"event": "config:0-15"}),
    }
    codes = {0x11: 3e9, 0x08: 9e9, 0x23: 2e8, 0x24: 7e8, 0x4005: 5e8, 0x36: 4e6, 0x37: 1e6}
    perf = FakePerf({Event(10, code): rate for code, rate in codes.items()})
    collector = PerfCollector(perf)
    values = reading(collector, opened(collector, tree(write(tmp_path, grace), {}, online="0")), perf)
    assert values["cpu0 stalled_cycles_per_s"] == 9e8
    assert values["cpu0 memory_stalled_cycles_per_s"] == 5e8
    assert values["cpu0 cache_misses_per_s"] == 1e6
