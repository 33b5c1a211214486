"""Collectors whose values all stand in tables of named numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hostsight.channel import WHOLE_HOST, Subsystem
from hostsight.errors import NoDataError
from ingest.collector import Host, Metric, Slot, Tier, Values
from ingest.collectors.wordtable import Format, WordTable
from ingest.kept_file import KeptFile

LIVE = 0.001
"""Native period, seconds: the kernel counts each event as it happens."""
AS_ROOT = "run the agent as root"
FOLDED = 1.0
"""Native period, seconds, of page counts that each CPU hands over once per `vm.stat_interval`."""


@dataclass(frozen=True, slots=True)
class Field:
    """A name in a kernel file and the metric that it feeds."""

    key: bytes
    subsystem: Subsystem
    metric: Metric


@dataclass(frozen=True, slots=True)
class Source:
    """A file below the root, its format, what is taken from it, and how to get it where it is missing."""

    path: str
    form: Format
    fields: tuple[Field, ...]
    device: str = WHOLE_HOST
    period_seconds: float = LIVE
    remedy: str = ""

    def slots(self, names: Sequence[bytes]) -> list[Slot]:
        by_key = {field.key: field for field in self.fields}
        return [
            Slot(
                by_key[name].subsystem,
                self.device,
                by_key[name].metric,
                self.period_seconds,
                f"{self.path} {name.decode()}",
            )
            for name in names
        ]


def why(error: OSError) -> str:
    """The reason, in the words of `NoDataError`, that a file could not be read."""
    if isinstance(error, PermissionError):
        return "permission"
    return "not supported" if isinstance(error, FileNotFoundError) else "N/A"


def way_out(error: OSError, otherwise: str = "") -> str:
    """The remedy where a file could not be read: rights if those are what lacks."""
    return AS_ROOT if isinstance(error, PermissionError) else otherwise


def unreadable(path: str, error: OSError, otherwise: str = "") -> NoDataError:
    """What `open` raises where the file that it needs could not be read."""
    return NoDataError(f"{path} cannot be read", why(error), way_out(error, otherwise))


class TableCollector(ABC):
    """A collector whose values all stand in tables of named numbers: a subclass lists its sources.

    A file that is missing or fails costs its own channels only; the collector fails where all of its files do.
    """

    name: ClassVar[str]
    tier: ClassVar[Tier]
    metrics: ClassVar[tuple[Metric, ...]]

    def __init__(self) -> None:
        self._tables: list[tuple[slice, WordTable]] = []
        self._absent: list[tuple[str, str, str]] = []

    @abstractmethod
    def sources(self, host: Host) -> Sequence[Source]:
        """The files of this family on `host`."""

    def open(self, host: Host) -> Sequence[Slot]:
        self.close()
        self._absent = []
        slots: list[Slot] = []
        for source in self.sources(host):
            slots += self._open_source(host, source, len(slots))
        if not slots:
            what, reason, remedy = next(iter(self._absent), (self.name, "no such device", ""))
            raise NoDataError(f"{what} gives nothing on this host", reason, remedy)
        return slots

    def read(self, out: Values) -> bool:
        failure: OSError | None = None
        failures = 0
        for where, table in self._tables:
            try:
                if not table.read(out[where]):
                    return False
            except OSError as error:
                out[where] = np.nan
                failure, failures = error, failures + 1
        if failure is not None and failures == len(self._tables):
            raise failure
        return True

    def captured(self) -> Sequence[KeptFile]:
        return [table.file for _, table in self._tables]

    def absent(self) -> Sequence[tuple[str, str, str]]:
        return tuple(self._absent)

    def close(self) -> None:
        for _, table in self._tables:
            table.close()
        self._tables = []

    def _open_source(self, host: Host, source: Source, start: int) -> list[Slot]:
        table = WordTable(host.path(source.path), source.form, [field.key for field in source.fields])
        try:
            names = table.open()
        except OSError as error:
            table.close()
            self._absent.append((source.path, why(error), way_out(error, source.remedy)))
            return []
        if not names:
            table.close()
            self._absent.append((source.path, "not supported", source.remedy))
            return []
        self._tables.append((slice(start, start + len(names)), table))
        return source.slots(names)
