"""Event tables and their formulas."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.collector import Host
from ingest.collectors.perf import PerfCollector
from ingest.perf.event import GENERIC, Event
from ingest.perf.formula import parse_formula
from ingest.perf.pmu import core_pmu
from ingest.perf.table import EventTable, controllers_for, parse_table, table_for, tables
from tests.unit.collectors.trees import write
from tests.unit.perf.fakes import CPU_PMU, X86_FORMAT, pmu

FORMATS = {
    "AuthenticAMD": {"event": "config:0-7,32-35", "umask": "config:8-15"},
    "GenuineIntel": X86_FORMAT,
    "0x": {"event": "config:0-15"},
}
GOOD = (
    'name = "X"\nsource = "Y"\ngroups = [["a"]]\n[events]\na = "cpu-cycles"\n[metrics]\ncycles_per_s = "a"\n'
)


@pytest.mark.parametrize(
    ("cpu", "table"),
    [
        ("GenuineIntel-6-55", "skylakex"),
        ("GenuineIntel-6-6A", "icelakex"),
        ("GenuineIntel-6-8F", "sapphirerapids"),
        ("GenuineIntel-6-CF", "sapphirerapids"),
        ("GenuineIntel-6-AD", "sapphirerapids"),
        ("AuthenticAMD-23-31", "amdzen2"),
        ("AuthenticAMD-25-1", "amdzen3"),
        ("AuthenticAMD-25-21", "amdzen3"),
        ("AuthenticAMD-25-11", "amdzen4"),
        ("AuthenticAMD-25-A0", "amdzen4"),
        ("AuthenticAMD-26-2", "amdzen5"),
        ("0x00000000410fd0c0", "neoverse-n1"),
        ("0x00000000410fd400", "neoverse-v1"),
        ("0x00000000410fd4f0", "neoverse-n2-v2"),
    ],
)
def test_a_processor_has_one_table(cpu: str, table: str) -> None:
    assert [name for name, one in tables().items() if one.fits(cpu)] == [table]
    assert table_for(cpu) is tables()[table]


@pytest.mark.parametrize(
    "cpu", ["", "AuthenticAMD-23-1", "GenuineIntel-6-4F", "POWER9", "GenuineIntel-6-555"]
)
def test_other_processors_have_the_kernel_s_generic_events(cpu: str) -> None:
    assert table_for(cpu).name == "generic events"


@pytest.mark.parametrize("table", tables().values(), ids=tables())
def test_tables_give_known_metrics_of_events_that_can_be_encoded(table: EventTable, tmp_path: Path) -> None:
    assert set(table.metrics) <= {metric.name for metric in PerfCollector.metrics}
    assert {"cycles_per_s", "instructions_per_s", "branch_misses_per_s", "dtlb_walks_per_s"} <= set(
        table.metrics
    )
    assert max(map(len, table.groups)) <= 4
    formats = next(
        (each for vendor, each in FORMATS.items() if table.cpus and table.cpus[0].startswith(vendor)), {}
    )
    core = core_pmu(Host(write(tmp_path, pmu(CPU_PMU, 4, formats))))
    assert core is not None
    for terms in table.events.values():
        assert terms in GENERIC or core.event(terms)


@pytest.mark.parametrize("table", tables().values(), ids=tables())
def test_both_events_of_a_ratio_are_counted_at_the_same_time(table: EventTable) -> None:
    group = {event: number for number, events in enumerate(table.groups) for event in events}
    for pair in (
        ("cycles", "instructions"),
        ("branches", "branch_misses"),
        ("cache_references", "cache_misses"),
    ):
        assert group[pair[0]] == group[pair[1]]


def encoded(name: str, event: str, formats: dict[str, str], root: Path) -> Event:
    core = core_pmu(Host(write(root, pmu(CPU_PMU, 4, formats))))
    assert core is not None
    return core.event(tables()[name].events[event])


def test_codes_are_those_of_the_manuals(tmp_path: Path) -> None:
    """As `perf stat -e` names them: CYCLE_ACTIVITY.STALLS_MEM_ANY, de_no_dispatch_per_slot.backend_stalls, STALL_BACKEND_MEM."""
    stalls = {
        ("skylakex", "memory_stalls"): 0x140014A3,
        ("sapphirerapids", "memory_stalls"): 0x050021A6,
        ("icelakex", "stalls"): 0x040004A3,
        ("sapphirerapids", "dtlb_walks"): 0x0E12,
        ("amdzen4", "backend_slots"): 0x1_0000_1EA0,
        ("amdzen3", "cache_misses"): 0x0964,
        ("amdzen2", "dtlb_walks"): 0xF045,
        ("neoverse-v1", "memory_stalls"): 0x4005,
    }
    for (name, event), code in stalls.items():
        vendor = tables()[name].cpus[0]
        formats = next(each for start, each in FORMATS.items() if vendor.startswith(start))
        assert encoded(name, event, formats, tmp_path / name) == Event(4, code), (name, event)


def test_slots_are_turned_into_cycles_by_the_width_of_the_core() -> None:
    slots = dict(tables()["amdzen4"].metrics["stalled_cycles_per_s"].terms)
    assert slots == pytest.approx({"frontend_slots": 1 / 6, "backend_slots": 1 / 6})
    assert tables()["amdzen5"].metrics["frontend_stalled_cycles_per_s"].terms == (("frontend_slots", 0.125),)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("a", (("a", 1.0),)),
        ("a + b", (("a", 1.0), ("b", 1.0))),
        ("2 * (a - b) / 4", (("a", 0.5), ("b", -0.5))),
        ("a + a", (("a", 2.0),)),
        ("b * 64", (("b", 64.0),)),
    ],
)
def test_formulas_are_weighted_sums(text: str, terms: tuple[tuple[str, float], ...]) -> None:
    assert parse_formula(text).terms == terms


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a b",
        "a / b",
        "a * b",
        "a + 1",
        "a / 0",
        "a ** 2",
        "-a",
        "max(a, b)",
        "a[0]",
        "'a'",
        "a / (1 - 1)",
    ],
)
def test_anything_else_is_no_formula(text: str) -> None:
    with pytest.raises(ValueError, match="is no formula"):
        parse_formula(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('groups = [["a"]]', 'groups = [["a", "b"]]'),
        ('groups = [["a"]]', 'groups = [["a"], ["a"]]'),
        ('= "a"\n', '= "b"\n'),
        ('= "a"\n', '= "a *"\n'),
        ("[events]", "[event]"),
        ('"X"', "X"),
    ],
)
def test_a_table_with_a_mistake_is_named(old: str, new: str) -> None:
    assert parse_table("odd", GOOD).metrics["cycles_per_s"].events == ("a",)
    with pytest.raises(ValueError, match=r"^odd\.toml: "):
        parse_table("odd", GOOD.replace(old, new))


def test_memory_controllers_of_one_vendor_are_not_looked_for_on_another() -> None:
    assert [kind.pmus for kind in controllers_for("AuthenticAMD-25-1")][-1] == "amd_df"
    assert "amd_df" not in [kind.pmus for kind in controllers_for("AuthenticAMD-25-11")]
    assert "nvidia_scf_pmu_\\d+" in [kind.pmus for kind in controllers_for("0x00000000410fd4f0")]
