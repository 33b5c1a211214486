"""Interrupts by device, by CPU and by NUMA node, and the kernel's own kinds, from /proc/interrupts.

Counters of 32 bits for each row and CPU. A device that has never interrupted is left out until it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hostsight.channel import WHOLE_HOST
from hostsight.errors import NoDataError
from ingest.collector import Host, Metric, Origin, Slot, Tier, Values
from ingest.collectors.irq_devices import IrqDevice, irq_devices
from ingest.collectors.irq_table import IrqTable, count_cpus
from ingest.collectors.pci import pci_devices
from ingest.collectors.tables import LIVE, unreadable
from ingest.collectors.topology import Spread, cpu_nodes, spread

_PATH = "/proc/interrupts"
_FEW_CPUS = 32

_DETAILS = ("[EXT]", "[I/O]", "[AIO]")
"""On IBM Z: kinds of the interrupts that the rows EXT, I/O and AIO count. arch/s390/kernel/irq.c."""

Positions = NDArray[np.intp]


def _interrupts(name: str, meaning: str, unit: str = "interrupts/s") -> Metric:
    return Metric(f"{name}_per_s", unit, "rate", meaning, wrap=32)


ALL = _interrupts("interrupts", "interrupts of the device, or taken by the CPU or the node's CPUs")
OWN_NODE = _interrupts("own_node_interrupts", "interrupts of the device that CPUs of its own NUMA node took")
_TIMER = _interrupts("local_timer_interrupts", "ticks of the CPUs' own timers")
_ERRORS = _interrupts("interrupt_errors", "bad interrupt vectors", "errors/s")
_KINDS: dict[str, Metric] = {
    "Local timer interrupts": _TIMER,
    "Local timer interrupts for timer event device": _TIMER,
    "Rescheduling interrupts": _interrupts("rescheduling_interrupts", "requests to another CPU to schedule"),
    "Function call interrupts": _interrupts(
        "function_call_interrupts", "requests to another CPU to run a function"
    ),
    "TLB shootdowns": _interrupts("tlb_shootdowns", "requests to another CPU to forget address translations"),
    "IRQ work interrupts": _interrupts("irq_work_interrupts", "work deferred to a hard interrupt"),
    "Non-maskable interrupts": _interrupts("non_maskable_interrupts", "profiling, watchdogs, faults"),
    "Performance monitoring interrupts": _interrupts(
        "performance_interrupts", "overflows of performance counters"
    ),
    "Thermal event interrupts": _interrupts(
        "thermal_interrupts", "CPUs that began or ceased to throttle for heat", "events/s"
    ),
    "Machine check exceptions": _interrupts("machine_checks", "hardware errors", "errors/s"),
    "Machine check polls": _interrupts("machine_check_polls", "looks for corrected hardware errors"),
    "Deferred Error APIC interrupts": _interrupts(
        "deferred_errors", "uncorrected errors that were put off", "errors/s"
    ),
    "Threshold APIC interrupts": _interrupts(
        "error_thresholds", "corrected errors that passed a limit", "errors/s"
    ),
    "Spurious interrupts": _interrupts("spurious_interrupts", "interrupts that nothing had raised"),
    "Hypervisor callback interrupts": _interrupts("hypervisor_interrupts", "messages of the hypervisor"),
    "ERR": _ERRORS,
    "Err": _ERRORS,
}
"""By description, or by label where there is none; POWER and Arm have words of their own."""


class InterruptsCollector:
    name: ClassVar[str] = "interrupts"
    origin: ClassVar[Origin] = Origin("/proc/interrupts", 0.001)
    tier: ClassVar[Tier] = Tier.SLOW
    metrics: ClassVar[tuple[Metric, ...]] = (ALL, OWN_NODE, *dict.fromkeys(_KINDS.values()))

    def __init__(self) -> None:
        self._table: IrqTable | None = None
        self._layout: _Layout | None = None
        self._beyond = 0

    def tier_on(self, host: Host) -> Tier:
        """Once a second where that is cheap: the kernel's work and ours grow with the number of CPUs."""
        return Tier.MEDIUM if count_cpus(host.path(_PATH)) <= _FEW_CPUS else Tier.SLOW

    def open(self, host: Host) -> Sequence[Slot]:
        table = IrqTable(host.path(_PATH))
        try:
            table.open()
        except OSError as error:
            raise unreadable(_PATH, error) from error
        if not table.cpus or not table.rows:
            raise NoDataError(f"{_PATH} shows no CPU", "not supported")
        self._table, self._layout = table, _lay_out(host, table)
        self._beyond = self._layout.active - len(self._layout.devices)
        return self._layout.slots()

    def read(self, out: Values) -> bool:
        if self._table is None or self._layout is None or not self._table.read():
            return False
        return self._layout.fill(self._table.counts, out)

    def absent(self) -> Sequence[tuple[str, str, str]]:
        if self._table is None or not self._beyond:
            return ()
        return [(f"{self._beyond} more of {self.name}", "over the limit", "raise [agent] device_limit")]

    def close(self) -> None:
        self._table = None


@dataclass(frozen=True, slots=True)
class _Layout:
    """What is made of the rows. `active`: devices that have interrupted, shown or not; `own` pairs a device with the columns of the CPUs on its node.

    `order` holds the rows of all devices, one device after another, and `starts` where each one's begin in it;
    `quiet` the rows of devices that are not shown; `counted` (bool[rows, 1]) which rows count for CPUs.
    """

    devices: tuple[IrqDevice, ...]
    active: int
    own: tuple[tuple[IrqDevice, Positions], ...]
    kinds: tuple[tuple[int, Metric], ...]
    cpus: Spread
    order: Positions
    starts: Positions
    quiet: Positions
    counted: NDArray[np.bool_]

    def slots(self) -> list[Slot]:
        named = [
            *((device.name, ALL) for device in self.devices),
            *((device.name, OWN_NODE) for device, _ in self.own),
            *((WHOLE_HOST, metric) for _, metric in self.kinds),
            *((device, ALL) for device in self.cpus.devices),
        ]
        return [Slot("cpu", device, metric, LIVE, _PATH) for device, metric in named]

    def fill(self, counts: Values, out: Values) -> bool:
        """Lay `counts` (float64[rows, cpus]) out in the order of `slots`; False where a quiet device has begun."""
        rows = counts.sum(axis=1)
        if (rows[self.quiet] > 0).any():
            return False
        of_devices = np.add.reduceat(rows[self.order], self.starts) if self.devices else ()
        on_own_nodes = [counts[list(device.rows)][:, columns].sum() for device, columns in self.own]
        of_kinds = rows[[at for at, _ in self.kinds]] if self.kinds else ()
        of_cpus = self.cpus.fold(counts.sum(axis=0, where=self.counted))
        out[:] = np.concatenate([of_devices, on_own_nodes, of_kinds, of_cpus])
        return True


def _lay_out(host: Host, table: IrqTable) -> _Layout:
    totals = np.nan_to_num(table.counts.sum(axis=1))
    found = irq_devices(table.rows, pci_devices(host))
    amounts = {device: float(totals[list(device.rows)].sum()) for device in found}
    busiest = sorted(amounts, key=lambda device: -amounts[device])[: host.device_limit]
    shown = tuple(device for device in found if amounts[device] > 0 and device in busiest)
    return _Layout(
        shown,
        sum(amount > 0 for amount in amounts.values()),
        tuple(_on_own_nodes(shown, cpu_nodes(host), table.cpus)),
        tuple(_kinds(table)),
        spread(host, table.cpus),
        order=np.array([at for device in shown for at in device.rows], np.intp),
        starts=np.cumsum([0, *(len(device.rows) for device in shown[:-1])]),
        quiet=np.array([at for device in found if not amounts[device] for at in device.rows], np.intp),
        counted=np.array([[row.by_cpu and not row.description.startswith(_DETAILS)] for row in table.rows]),
    )


def _on_own_nodes(
    devices: Sequence[IrqDevice], nodes: Mapping[int, int], cpus: Sequence[int]
) -> Iterator[tuple[IrqDevice, Positions]]:
    """Devices whose node is known and has CPUs, on hosts with several nodes."""
    for device in devices:
        columns = np.flatnonzero([nodes.get(cpu) == device.node for cpu in cpus])
        if device.node is not None and len(set(nodes.values())) > 1 and len(columns):
            yield device, columns


def _kinds(table: IrqTable) -> Iterator[tuple[int, Metric]]:
    for at, row in enumerate(table.rows):
        metric = _KINDS.get(row.description) or _KINDS.get(row.label)
        if metric is not None and not row.label.isdecimal():
            yield at, metric
