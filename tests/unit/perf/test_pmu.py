"""Events in the terms of a PMU's format folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.collector import Host
from ingest.perf.cpuid import cpu_id, virtual
from ingest.perf.event import Event
from ingest.perf.pmu import Pmu, core_pmu, pmus
from tests.unit.collectors.trees import write
from tests.unit.perf.fakes import CPU_PMU, X86_FORMAT, pmu

DEVICES = "sys/bus/event_source/devices"
AMD_FORMAT = {"event": "config:0-7,32-35", "umask": "config:8-15", "slice": "config1:4-5"}


def one(root: Path, folder: str) -> Pmu:
    (found,) = pmus(Host(root), Path(folder).name)
    return found


def test_terms_go_to_their_bits(tmp_path: Path) -> None:
    cpu = one(write(tmp_path, pmu(CPU_PMU, 4, X86_FORMAT)), CPU_PMU)
    assert cpu.event("event=0xa3,umask=0x14,cmask=20") == Event(4, 0x140014A3)
    assert cpu.event("event=0xc2,inv") == Event(4, 0x8000C2)


def test_the_bits_of_a_term_may_lie_apart_and_in_another_word(tmp_path: Path) -> None:
    cpu = one(write(tmp_path, pmu(CPU_PMU, 4, AMD_FORMAT)), CPU_PMU)
    assert cpu.event("event=0x1a0,umask=0x1e,slice=2") == Event(4, 0x1_0000_1EA0, 0x20)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ("event=0x1,rdwrmask=1", "no term 'rdwrmask'"),
        ("event=0x1000", "too many bits"),
        ("cas_count_read", "no event 'cas_count_read'"),
        ("event=many", "many"),
    ],
)
def test_what_a_pmu_does_not_have_is_refused(terms: str, message: str, tmp_path: Path) -> None:
    cpu = one(write(tmp_path, pmu(CPU_PMU, 4, AMD_FORMAT)), CPU_PMU)
    with pytest.raises(ValueError, match=message):
        cpu.event(terms)


def test_an_alias_brings_its_terms_and_its_bytes(tmp_path: Path) -> None:
    events = {
        "cas_count_read": "event=0x04,umask=0x03",
        "cas_count_read.scale": "6.103515625e-5",
        "cas_count_read.unit": "MiB",
        "clockticks": "event=0x0",
    }
    folder = f"{DEVICES}/uncore_imc_0"
    imc = one(write(tmp_path, pmu(folder, 13, X86_FORMAT, events, "0,18")), folder)
    assert imc.event("cas_count_read") == Event(13, 0x304)
    assert imc.bytes_per_count("cas_count_read") == 64
    assert imc.bytes_per_count("clockticks") is None
    assert imc.cpus == (0, 18)


def test_units_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for number in (0, 2, 10):
        write(tmp_path, pmu(f"{DEVICES}/uncore_imc_{number}", 20 + number, {}))
    write(tmp_path, pmu(f"{DEVICES}/uncore_imc_free_running_0", 40, {}))
    found = pmus(Host(tmp_path), r"uncore_imc_\d+")
    assert [(each.name, each.type) for each in found] == [
        ("uncore_imc_0", 20),
        ("uncore_imc_2", 22),
        ("uncore_imc_10", 30),
    ]


def test_a_host_with_two_kinds_of_core_has_no_one_core_pmu(tmp_path: Path) -> None:
    write(tmp_path, pmu(f"{DEVICES}/cpu_core", 4, X86_FORMAT))
    only = core_pmu(Host(tmp_path))
    assert only is not None
    assert only.name == "cpu_core"
    assert core_pmu(Host(write(tmp_path, pmu(f"{DEVICES}/cpu_atom", 10, X86_FORMAT)))) is None


def cpuinfo(family: int, model: int, flags: str = "fpu") -> dict[str, str]:
    lines = f"processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: {family}\nmodel\t\t: {model}\nflags\t\t: {flags}\n"
    return {"proc/cpuinfo": lines + "\nprocessor\t: 1\nmodel\t\t: 1\n"}


def test_a_processor_is_named_as_in_the_kernel_s_mapfile(tmp_path: Path) -> None:
    assert cpu_id(Host(write(tmp_path, cpuinfo(6, 143)))) == "GenuineIntel-6-8F"


def test_an_arm_core_is_named_without_variant_and_revision(tmp_path: Path) -> None:
    midr = "sys/devices/system/cpu/cpu0/regs/identification/midr_el1"
    assert cpu_id(Host(write(tmp_path, {midr: "0x00000000413fd0c1\n"}))) == "0x00000000410fd0c0"


@pytest.mark.parametrize(
    "content", ["", "processor : 0\n", "vendor_id : A\ncpu family : x\nmodel : 1\n", "\xff"]
)
def test_an_unknown_processor_has_no_name(content: str, tmp_path: Path) -> None:
    assert cpu_id(Host(write(tmp_path, {"proc/cpuinfo": content}))) == ""


def test_a_hypervisor_shows_in_the_flags(tmp_path: Path) -> None:
    assert virtual(Host(write(tmp_path / "guest", cpuinfo(6, 143, "fpu hypervisor avx"))))
    assert not virtual(Host(write(tmp_path / "metal", cpuinfo(6, 143))))
