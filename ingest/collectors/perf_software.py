"""What the kernel itself counts on each CPU, with or without a performance monitoring unit."""

from __future__ import annotations

from typing import ClassVar

from ingest.collector import Host, Metric, Origin
from ingest.collectors.cpuevents import CpuEventsCollector
from ingest.collectors.percpu import CpuMetric
from ingest.perf.formula import Formula
from ingest.perf.pmu import Pmu
from ingest.perf.table import EventTable

_EVENTS = {
    "context-switches": CpuMetric(
        Metric("context_switches_per_s", "switches/s", "gauge", "context switches of the CPU"), on_host=False
    ),
    "cpu-migrations": CpuMetric(
        Metric("cpu_migrations_per_s", "migrations/s", "gauge", "tasks that moved to this CPU from another")
    ),
    "page-faults": CpuMetric(
        Metric("page_faults_per_s", "faults/s", "gauge", "page faults, minor and major, of tasks on the CPU"),
        on_host=False,
    ),
    "alignment-faults": CpuMetric(
        Metric(
            "alignment_faults_per_s", "faults/s", "gauge", "unaligned accesses that the kernel had to mend"
        ),
        by_cpu=False,
    ),
    "emulation-faults": CpuMetric(
        Metric("emulation_faults_per_s", "faults/s", "gauge", "instructions that the kernel had to emulate"),
        by_cpu=False,
    ),
}
"""Context switches and page faults of the whole host are those of the collectors `cpu` and `vmstat`."""


class PerfSoftwareCollector(CpuEventsCollector):
    name: ClassVar[str] = "perf_software"
    origin: ClassVar[Origin] = Origin(
        "perf_event_open, software events", 0.001, "CAP_PERFMON or kernel.perf_event_paranoid of at most 0"
    )
    settles_later: ClassVar[bool] = True
    columns: ClassVar[tuple[CpuMetric, ...]] = tuple(_EVENTS.values())
    metrics: ClassVar[tuple[Metric, ...]] = tuple(column.metric for column in _EVENTS.values())
    what: ClassVar[str] = "software events"

    def table(self, host: Host) -> tuple[EventTable, Pmu | None]:
        return _TABLE, None


_TABLE = EventTable(
    "software events",
    "include/uapi/linux/perf_event.h",
    (),
    (tuple(_EVENTS),),
    {name: name for name in _EVENTS},
    {column.metric.name: Formula(((name, 1.0),)) for name, column in _EVENTS.items()},
)
