"""How long tasks wait in the run queues, from /proc/schedstat (kernels with CONFIG_SCHEDSTATS).

Fields 7 to 9 of a CPU's line are nanoseconds run, nanoseconds waited and time slices. Documentation/scheduler/sched-stats.rst.
"""

from __future__ import annotations

import re
from typing import ClassVar

import numpy as np

from hostsight.channel import Subsystem
from ingest.collector import Metric, Origin
from ingest.collectors.percpu import Counts, CpuMetric, PerCpuCollector
from ingest.collectors.words import numbers

_COLUMNS = (
    CpuMetric(
        Metric(
            "run_queue_waiting_tasks",
            "tasks",
            "rate",
            "tasks that wait for a CPU, on average: seconds waited per second",
            scale=1e-9,
        )
    ),
    CpuMetric(Metric("timeslices_per_s", "switches/s", "rate", "times that a task was given a CPU")),
)
_WAITED, _SLICES = 8, 9
_CPU = re.compile(rb"cpu(\d{1,6})")
_VERSION = re.compile(rb"version (\d{1,6})\s")
_FIRST_VERSION = 15
"""Earlier ones have three more fields before these."""


class SchedstatCollector(PerCpuCollector):
    name: ClassVar[str] = "schedstat"
    origin: ClassVar[Origin] = Origin("/proc/schedstat", 0.001, "a kernel with CONFIG_SCHEDSTATS")
    metrics: ClassVar[tuple[Metric, ...]] = tuple(column.metric for column in _COLUMNS)
    subsystem: ClassVar[Subsystem] = "cpu"
    path: ClassVar[str] = "/proc/schedstat"
    columns: ClassVar[tuple[CpuMetric, ...]] = _COLUMNS
    remedy: ClassVar[str] = "boot a kernel built with CONFIG_SCHEDSTATS"

    def parse(self, content: bytes) -> Counts:
        version = _VERSION.match(content)
        if version and int(version[1]) < _FIRST_VERSION:
            return Counts((), np.empty((len(_COLUMNS), 0)))
        cpus: list[int] = []
        texts: list[bytes] = []
        for line in content.splitlines():
            words = line.split(None, _SLICES + 1)
            named = _CPU.fullmatch(words[0]) if len(words) > _SLICES else None
            if named:
                cpus.append(int(named[1]))
                texts += (words[_WAITED], words[_SLICES])
        return Counts(tuple(cpus), np.ascontiguousarray(numbers(texts).reshape(-1, len(_COLUMNS)).T))
