"""Pressure stall information: the share of time in which tasks waited for CPU, memory or storage.

`some` is the share in which at least one task waited, `full` that in which no task could run. The kernel brings the
totals up to date at each read. Documentation/accounting/psi.rst.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from hostsight.channel import Subsystem
from ingest.collector import Host, Metric, Origin, Tier
from ingest.collectors.tables import Field, Source, TableCollector
from ingest.collectors.wordtable import ASSIGNED

_PERCENT_OF_MICROSECONDS = 1e-4
_REMEDY = "boot a kernel built with CONFIG_PSI, with psi=1 on its command line"
_IRQ_REMEDY = "boot Linux 6.1 or later built with CONFIG_PSI and CONFIG_IRQ_TIME_ACCOUNTING"


def _stall(key: bytes, subsystem: Subsystem, name: str, meaning: str) -> Field:
    return Field(key, subsystem, Metric(name, "%", "rate", meaning, scale=_PERCENT_OF_MICROSECONDS))


# `full` of /proc/pressure/cpu is always zero for a whole host: some task runs whenever another waits for the CPU.
_FILES: dict[str, tuple[Field, ...]] = {
    "/proc/pressure/cpu": (
        _stall(b"some.total", "cpu", "pressure_some_percent", "time in which a task waited for a CPU"),
    ),
    "/proc/pressure/irq": (
        _stall(b"full.total", "cpu", "irq_pressure_full_percent", "time that interrupts took from tasks"),
    ),
    "/proc/pressure/memory": (
        _stall(b"some.total", "memory", "pressure_some_percent", "time in which a task waited for memory"),
        _stall(b"full.total", "memory", "pressure_full_percent", "time in which all tasks waited for memory"),
    ),
    "/proc/pressure/io": (
        _stall(b"some.total", "storage", "pressure_some_percent", "time in which a task waited for storage"),
        _stall(
            b"full.total", "storage", "pressure_full_percent", "time in which all tasks waited for storage"
        ),
    ),
}


class PressureCollector(TableCollector):
    name: ClassVar[str] = "pressure"
    origin: ClassVar[Origin] = Origin("/proc/pressure", 0.001, "a kernel with CONFIG_PSI")
    tier: ClassVar[Tier] = Tier.FAST
    metrics: ClassVar[tuple[Metric, ...]] = tuple(
        field.metric for fields in _FILES.values() for field in fields
    )

    def sources(self, host: Host) -> Sequence[Source]:
        return [Source(path, ASSIGNED, fields, remedy=_remedy(path)) for path, fields in _FILES.items()]


def _remedy(path: str) -> str:
    return _IRQ_REMEDY if path.endswith("irq") else _REMEDY
