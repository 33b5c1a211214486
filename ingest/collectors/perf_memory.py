"""How much data memory controllers move, by the counters outside the cores (uncore).

Which units count it, and how, is in `ingest/perf/tables/memory.toml`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hostsight.channel import WHOLE_HOST
from hostsight.errors import NoDataError
from ingest.collector import Host, Metric, Origin, Slot, Tier, Values
from ingest.collectors.cpuevents import NOT_HERE, ROOM_SHARE
from ingest.collectors.smallfiles import read_word
from ingest.collectors.tables import LIVE
from ingest.collectors.topology import cpu_nodes
from ingest.perf.calls import LinuxPerfCalls, PerfCalls, counts_here
from ingest.perf.counters import CpuCounters
from ingest.perf.cpuid import cpu_id, virtual
from ingest.perf.pmu import Pmu, pmus
from ingest.perf.refusal import ENOUGH_DESCRIPTORS, refusal
from ingest.perf.table import Controller, controllers_for

_WHAT = "memory bandwidth"
_MOST_TOGETHER = 4
_METRICS = {
    "read": Metric(
        "memory_read_bytes_per_s", "B/s", "gauge", "data read from memory, by CPUs and devices alike"
    ),
    "write": Metric(
        "memory_write_bytes_per_s", "B/s", "gauge", "data written to memory, by CPUs and devices alike"
    ),
    "moved": Metric("memory_moved_bytes_per_s", "B/s", "gauge", "data read from and written to memory"),
}
_PLACES = {direction: place for place, direction in enumerate(_METRICS)}
"""Whatever is read or written is moved, too: the last place."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """One PMU: its counters, which device each of its CPUs stands for, and bytes per count, [directions, events]."""

    counters: CpuCounters
    devices: tuple[str, ...]
    bytes_per_count: Values


class PerfMemoryCollector:
    """By host and NUMA node; by package where a package is several nodes."""

    name: ClassVar[str] = "perf_memory"
    origin: ClassVar[Origin] = Origin(
        "perf_event_open, counters of the memory controllers",
        0.001,
        "uncore counters, and CAP_PERFMON or kernel.perf_event_paranoid of at most 0",
    )
    tier: ClassVar[Tier] = Tier.MEDIUM
    background: ClassVar[bool] = True
    settles_later: ClassVar[bool] = True
    metrics: ClassVar[tuple[Metric, ...]] = tuple(_METRICS.values())

    def __init__(self, calls: PerfCalls | None = None) -> None:
        self._calls = calls or LinuxPerfCalls()
        self._units: list[_Unit] = []
        self._devices: list[str] = []
        self._directions: list[int] = []

    def open(self, host: Host) -> Sequence[Slot]:
        self.close()
        if not counts_here(host):
            raise NoDataError(f"{_WHAT} {NOT_HERE}", "not supported")
        kind, found = _present(host)
        try:
            for pmu in found:
                self._open_unit(host, kind, pmu)
        except OSError as error:
            self.close()
            raise refusal(host, _WHAT, error) from error
        self._devices = sorted({device for unit in self._units for device in unit.devices})
        known = [bool(kind.read), bool(kind.write), bool(kind.moved or (kind.read and kind.write))]
        self._directions = [place for place, given in enumerate(known) if given]
        metrics = [[*_METRICS.values()][place] for place in self._directions]
        return [
            Slot("memory", device, metric, LIVE, f"perf_event_open {kind.pmus}")
            for device in (WHOLE_HOST, *self._devices)
            for metric in metrics
        ]

    def read(self, out: Values) -> bool:
        if not self._units:
            return False
        moved = {device: np.zeros(len(_METRICS)) for device in self._devices}
        for unit in self._units:
            _, rates = unit.counters.read()
            for column, device in enumerate(unit.devices):
                moved[device] += unit.bytes_per_count @ rates[:, column]
        each = np.array([moved[device][self._directions] for device in self._devices])
        out[:] = np.concatenate([each.sum(axis=0), each.ravel()])
        return True

    def absent(self) -> Sequence[tuple[str, str, str]]:
        counted = [unit.counters for unit in self._units]
        if not any(counters.turns for counters in counted):
            return ()
        at_once, of = sum(one.at_once for one in counted), sum(len(one.cpus) for one in counted)
        what = f"{_WHAT} of all controllers at once; {at_once} of {of} take turns"
        return [(what, "too few descriptors", ENOUGH_DESCRIPTORS)]

    def close(self) -> None:
        for unit in self._units:
            unit.counters.close()
        self._units = []

    def _open_unit(self, host: Host, kind: Controller, pmu: Pmu) -> None:
        terms = _terms(kind)
        events = [pmu.event(term) for _, term in terms]
        weights = np.zeros((len(_METRICS), len(events)))
        for event, (direction, term) in enumerate(terms):
            weights[[_PLACES[direction], -1], event] = _size(kind, pmu, direction, term)
        together = tuple(range(len(events)))
        plan = (together,) if len(events) <= _MOST_TOGETHER else tuple((one,) for one in together)
        counters = CpuCounters(self._calls, events, plan, pmu.cpus, self._calls.room() // ROOM_SHARE)
        self._units.append(_Unit(counters, tuple(_places(host, pmu.cpus)), weights))
        counters.open()


def _present(host: Host) -> tuple[Controller, list[Pmu]]:
    """The best kind of memory controllers that this host shows."""
    for kind in controllers_for(cpu_id(host)):
        found = [pmu for pmu in pmus(host, kind.pmus) if pmu.cpus and _fits(kind, pmu)]
        if found:
            return kind, found
    raise _none(host)


def _none(host: Host) -> NoDataError:
    what = "no memory controller shows counters in /sys/bus/event_source/devices"
    if virtual(host):
        return NoDataError(f"{what} (usual in a virtual machine)")
    modules = {"GenuineIntel": "intel-uncore", "AuthenticAMD": "amd-uncore"}
    module = modules.get(cpu_id(host).partition("-")[0])
    return NoDataError(what, remedy=f"modprobe {module}" if module else "")


def _terms(kind: Controller) -> list[tuple[str, str]]:
    """(direction, event) of all that is counted."""
    return [(direction, term) for direction in _METRICS for term in getattr(kind, direction)]


def _size(kind: Controller, pmu: Pmu, direction: str, term: str) -> float | None:
    return kind.bytes.get(direction) or pmu.bytes_per_count(term)


def _fits(kind: Controller, pmu: Pmu) -> bool:
    """Whether the PMU has all events of the kind, and it is known how many bytes each of them counts."""
    try:
        return all(pmu.event(term) and _size(kind, pmu, direction, term) for direction, term in _terms(kind))
    except ValueError:
        return False


def _places(host: Host, cpus: Sequence[int]) -> Iterator[str]:
    """The node whose memory the unit of each CPU controls, or the package."""
    of_node = cpu_nodes(host)
    packages = {cpu: _package(host, cpu) for cpu in (*of_node, *cpus)}
    for cpu in cpus:
        nodes = {node for other, node in of_node.items() if packages[other] == packages[cpu]}
        yield f"node{nodes.pop()}" if len(nodes) == 1 else f"package{packages[cpu]}"


def _package(host: Host, cpu: int) -> str:
    return read_word(host.path(f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id")) or "0"
