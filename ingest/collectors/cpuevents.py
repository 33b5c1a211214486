"""Collectors of events that perf_event_open counts on each CPU: a subclass says which."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hostsight.channel import WHOLE_HOST
from hostsight.errors import NoDataError
from ingest.collector import Host, Metric, Slot, Tier, Values
from ingest.collectors.percpu import CpuMetric
from ingest.collectors.smallfiles import read_word
from ingest.collectors.tables import LIVE
from ingest.collectors.topology import ONLINE, Spread, parse_list, spread
from ingest.kept_file import KeptFile
from ingest.perf.calls import LinuxPerfCalls, PerfCalls, counts_here, kernel_setting
from ingest.perf.counters import CpuCounters
from ingest.perf.event import GENERIC, Event
from ingest.perf.formula import Formula
from ingest.perf.pmu import Pmu
from ingest.perf.refusal import ENOUGH_DESCRIPTORS, reason_of, refusal
from ingest.perf.table import EventTable

ROOM_SHARE = 3
"""A collector takes at most one in so many of the descriptors that the process has left."""

NOT_HERE = "cannot be counted in a tree of files"


class CpuEventsCollector(ABC):
    """Rates by host and by CPU, or by NUMA node where there are more CPUs than `per_cpu_limit`.

    Rates are the kernel's counts over the time that it counted, so they need no clock of ours. Where CPUs take turns, a
    CPU has a value in its turn only, and sums are of each one's last.
    """

    name: ClassVar[str]
    tier: ClassVar[Tier] = Tier.MEDIUM
    background: ClassVar[bool] = True
    """Reading a counter of another CPU interrupts that CPU and waits for it."""
    columns: ClassVar[tuple[CpuMetric, ...]]
    metrics: ClassVar[tuple[Metric, ...]]
    what: ClassVar[str]

    def __init__(self, calls: PerfCalls | None = None) -> None:
        self._calls = calls or LinuxPerfCalls()
        self._online: KeptFile | None = None
        self._counters: CpuCounters | None = None
        self._absent: list[tuple[str, str, str]] = []
        self._places, self._weights = _mix((), [])
        self._latest = np.empty((0, 0))
        self._on_host: list[int] = []
        self._by_cpu: list[int] = []
        self._spread = Spread((), np.empty(0, np.intp), np.empty(0, np.intp))
        self._single = np.empty(0, np.bool_)

    @abstractmethod
    def table(self, host: Host) -> tuple[EventTable, Pmu | None]:
        """Events to count, and the PMU in whose terms those stand that are not the kernel's own names."""

    def open(self, host: Host) -> Sequence[Slot]:
        self.close()
        self._absent = []
        if not counts_here(host):
            raise NoDataError(f"{self.what} {NOT_HERE}", "not supported")
        cpus = self._cpus(host)
        table, pmu = self.table(host)
        events = self._encoded(table, pmu)
        names = [*events]
        plan = tuple(tuple(names.index(name) for name in group if name in events) for group in table.groups)
        counters = CpuCounters(self._calls, [*events.values()], plan, cpus, self._calls.room() // ROOM_SHARE)
        try:
            counters.open()
        except OSError as error:
            counters.close()
            raise refusal(host, self.what, error) from error
        self._counters = counters
        self._absent += [
            (f"{self.what}: {names[place]}", reason_of(error), "")
            for place, error in counters.missing.items()
        ]
        counted = [name for place, name in enumerate(names) if place not in counters.missing]
        return self._settle(host, table, names, counted)

    def read(self, out: Values) -> bool:
        if self._counters is None or self._online is None or self._online.read_changed() is not None:
            return False
        columns, rates = self._counters.read()
        values: Values = (self._weights * rates[self._places]).sum(axis=1)
        if not self._counters.turns:
            self._latest = values
            devices = self._spread.fold(values[self._by_cpu])
        else:
            self._latest[:, columns] = values[:, columns]
            now, last = (self._spread.fold(each[self._by_cpu]) for each in (values, self._latest))
            devices = np.where(self._single, now, last)
        whole = len(self._on_host)
        out[:whole] = self._latest[self._on_host].sum(axis=1)
        out[whole:] = devices.ravel()
        return True

    def tier_on(self, host: Host) -> Tier:
        """Slow where CPUs are too many to be shown one by one: each costs as many system calls as it has groups."""
        online = read_word(host.path(ONLINE))
        return Tier.SLOW if sum(1 for _ in parse_list(online)) > host.per_cpu_limit else Tier.MEDIUM

    def absent(self) -> Sequence[tuple[str, str, str]]:
        counters = self._counters
        found = list(self._absent)
        if counters is not None and counters.turns:
            which = f"{self.what} of all CPUs at once; {counters.at_once} of {len(counters.cpus)} take turns"
            found.append((which, "too few descriptors", ENOUGH_DESCRIPTORS))
        if counters is not None and counters.split:
            watchdog = kernel_setting("nmi_watchdog") == "1"
            remedy = "sysctl -w kernel.nmi_watchdog=0" if watchdog else ""
            found.append((f"{self.what} in groups; others hold some counters", "N/A", remedy))
        return tuple(found)

    def close(self) -> None:
        if self._counters is not None:
            self._counters.close()
            self._counters = None
        if self._online is not None:
            self._online.close()
            self._online = None

    def _cpus(self, host: Host) -> list[int]:
        self._online = KeptFile(host.path(ONLINE))
        try:
            content = self._online.read_changed() or b""
        except OSError:
            content = b""
        cpus = [*parse_list(content.decode("ascii", "replace"))]
        if not cpus:
            raise NoDataError(f"{ONLINE} names no CPU", "not supported")
        return cpus

    def _encoded(self, table: EventTable, pmu: Pmu | None) -> dict[str, Event]:
        """Events of the table that this PMU has terms for, by name."""
        events: dict[str, Event] = {}
        for name in (name for group in table.groups for name in group):
            terms = table.events[name]
            try:
                events[name] = GENERIC[terms] if terms in GENERIC or pmu is None else pmu.event(terms)
            except (KeyError, ValueError):
                self._absent.append((f"{self.what}: {name}", "not supported", ""))
        return events

    def _settle(
        self, host: Host, table: EventTable, names: Sequence[str], counted: Sequence[str]
    ) -> list[Slot]:
        """Slots of the metrics of which all events are counted: of the host first, then each metric by device."""
        assert self._counters is not None  # noqa: S101 - set just before
        cpus = self._counters.cpus
        given = [
            column
            for column in self.columns
            if column.metric.name in table.metrics
            and set(table.metrics[column.metric.name].events) <= set(counted)
        ]
        formulas = [table.metrics[column.metric.name] for column in given]
        self._places, self._weights = _mix(formulas, names)
        self._latest = np.full((len(given), len(cpus)), np.nan)
        self._on_host = [at for at, column in enumerate(given) if column.on_host]
        self._by_cpu = [at for at, column in enumerate(given) if column.by_cpu]
        self._spread = spread(host, cpus)
        self._single = np.array([device.startswith("cpu") for device in self._spread.devices], np.bool_)
        sources = [
            "perf_event_open " + ", ".join(table.events[name] for name in one.events) for one in formulas
        ]
        slots = [Slot("cpu", WHOLE_HOST, given[at].metric, LIVE, sources[at]) for at in self._on_host]
        return slots + [
            Slot("cpu", device, given[at].metric, LIVE, sources[at])
            for at in self._by_cpu
            for device in self._spread.devices
        ]


def _mix(formulas: Sequence[Formula], names: Sequence[str]) -> tuple[NDArray[np.intp], Values]:
    """Which events each metric takes, [metrics, terms], and their weights, [metrics, terms, 1].

    A formula with fewer terms than another takes its own first event again, with weight 0.
    """
    most = max((len(formula.terms) for formula in formulas), default=1)
    places = np.zeros((len(formulas), most), np.intp)
    weights = np.zeros((len(formulas), most, 1))
    for at, formula in enumerate(formulas):
        places[at] = names.index(formula.events[0])
        for term, (name, weight) in enumerate(formula.terms):
            places[at, term], weights[at, term] = names.index(name), weight
    return places, weights
