"""Collectors of files that count the same few things for each CPU."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hostsight.channel import WHOLE_HOST, Subsystem
from hostsight.errors import NoDataError
from ingest.collector import Host, Metric, Slot, Tier, Values
from ingest.collectors.smallfiles import read_word
from ingest.collectors.tables import LIVE, unreadable
from ingest.collectors.topology import ONLINE, Spread, parse_list, spread
from ingest.kept_file import KeptFile


@dataclass(frozen=True, slots=True)
class CpuMetric:
    """A metric of a per-CPU file: shown for the whole host, for each CPU (or node), or both."""

    metric: Metric
    on_host: bool = True
    by_cpu: bool = True


@dataclass(frozen=True, slots=True)
class Counts:
    """What a per-CPU file says: `values` is float64[metrics, cpus], NaN where it does not say."""

    cpus: tuple[int, ...]
    values: Values


class PerCpuCollector(ABC):
    """A subclass names the file and its metrics and parses it. Metrics that the file lacks are left out."""

    name: ClassVar[str]
    tier: ClassVar[Tier] = Tier.FAST
    metrics: ClassVar[tuple[Metric, ...]]
    subsystem: ClassVar[Subsystem]
    path: ClassVar[str]
    columns: ClassVar[tuple[CpuMetric, ...]]
    remedy: ClassVar[str] = ""

    def __init__(self) -> None:
        self._file: KeptFile | None = None
        self._cpus: tuple[int, ...] = ()
        self._spread = Spread((), np.empty(0, np.intp), np.empty(0, np.intp))
        self._on_host = self._by_cpu = np.empty(0, np.intp)
        self._values = np.empty(0)

    @abstractmethod
    def parse(self, content: bytes) -> Counts:
        """Counts of `columns`, in that order; raises ValueError where the file makes no sense."""

    def open(self, host: Host) -> Sequence[Slot]:
        self.close()
        self._file = KeptFile(host.path(self.path))
        counts = self._first(self._file)
        self._cpus, self._spread = counts.cpus, spread(host, counts.cpus)
        given = ~np.isnan(counts.values).all(axis=1)
        on_host = np.array([column.on_host for column in self.columns])
        by_cpu = np.array([column.by_cpu for column in self.columns])
        self._on_host, self._by_cpu = np.flatnonzero(given & on_host), np.flatnonzero(given & by_cpu)
        return [self._slot(WHOLE_HOST, at) for at in self._on_host.tolist()] + [
            self._slot(device, at) for at in self._by_cpu.tolist() for device in self._spread.devices
        ]

    def read(self, out: Values) -> bool:
        if self._file is None:
            return False
        content = self._file.read_changed()
        if content is not None:
            counts = self.parse(content)
            if counts.cpus != self._cpus:
                return False
            self._values = self._lay_out(counts.values)
        out[:] = self._values
        return True

    def tier_on(self, host: Host) -> Tier:
        """Rarer where CPUs are too many to be shown one by one: the file grows with them."""
        online = read_word(host.path(ONLINE))
        return Tier.MEDIUM if sum(1 for _ in parse_list(online)) > host.per_cpu_limit else self.tier

    def captured(self) -> Sequence[KeptFile]:
        return [self._file] if self._file is not None else []

    def absent(self) -> Sequence[tuple[str, str, str]]:
        return ()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _first(self, file: KeptFile) -> Counts:
        try:
            counts = self.parse(file.read())
        except OSError as error:
            raise unreadable(self.path, error, self.remedy) from error
        if not counts.cpus:
            raise NoDataError(f"{self.path} shows no CPU", "not supported", self.remedy)
        return counts

    def _slot(self, device: str, at: int) -> Slot:
        return Slot(self.subsystem, device, self.columns[at].metric, LIVE, self.path)

    def _lay_out(self, values: Values) -> Values:
        """Sums over all CPUs, then each metric over the devices."""
        total = values[self._on_host].sum(axis=1)
        return np.concatenate([total, self._spread.fold(values[self._by_cpu]).ravel()])
