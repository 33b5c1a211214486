"""What the cores' own counters say: instructions, cycles, branches, caches, stalls, page walks.

Which event stands for what depends on the micro-architecture: see `ingest/perf/tables`.
"""

from __future__ import annotations

from typing import ClassVar

from ingest.collector import Host, Metric, Origin
from ingest.collectors.cpuevents import CpuEventsCollector
from ingest.collectors.percpu import CpuMetric
from ingest.perf.cpuid import cpu_id
from ingest.perf.pmu import Pmu, core_pmu
from ingest.perf.table import EventTable, table_for, tables


def _column(name: str, unit: str, meaning: str) -> CpuMetric:
    return CpuMetric(Metric(name, unit, "gauge", meaning))


_COLUMNS = (
    _column("cycles_per_s", "cycles/s", "clock cycles in which the CPU was not halted"),
    _column("instructions_per_s", "instructions/s", "instructions retired"),
    _column("branches_per_s", "branches/s", "branch instructions retired"),
    _column("branch_misses_per_s", "misses/s", "branches retired that had been predicted wrongly"),
    _column(
        "stalled_cycles_per_s",
        "cycles/s",
        "cycles in which no operation was executed or sent to be executed; see the event table",
    ),
    _column("frontend_stalled_cycles_per_s", "cycles/s", "cycles without an instruction to work on"),
    _column("memory_stalled_cycles_per_s", "cycles/s", "cycles stalled while data from memory was awaited"),
    _column(
        "cache_references_per_s",
        "references/s",
        "look-ups in the last cache that a core can count: L3 on Intel and Arm, L2 on AMD",
    ),
    _column("cache_misses_per_s", "misses/s", "those of cache_references_per_s that missed"),
    _column(
        "dtlb_walks_per_s", "walks/s", "page tables walked as no TLB had a data address; loads alone on Intel"
    ),
)


class PerfCollector(CpuEventsCollector):
    name: ClassVar[str] = "perf"
    origin: ClassVar[Origin] = Origin(
        "perf_event_open, hardware events",
        0.001,
        "hardware counters, and CAP_PERFMON or kernel.perf_event_paranoid of at most 0",
    )
    settles_later: ClassVar[bool] = True
    columns: ClassVar[tuple[CpuMetric, ...]] = _COLUMNS
    metrics: ClassVar[tuple[Metric, ...]] = tuple(column.metric for column in _COLUMNS)
    what: ClassVar[str] = "hardware events"

    def table(self, host: Host) -> tuple[EventTable, Pmu | None]:
        """The micro-architecture's own, where its PMU is there to encode it; else the kernel's generic events."""
        pmu = core_pmu(host)
        return (table_for(cpu_id(host)), pmu) if pmu else (tables()["generic"], None)
