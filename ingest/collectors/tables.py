"""Kernel files that are tables of named numbers, and collectors made of them.

A name is looked up once, when the file is opened; after that its value is picked by position, and the names at those
positions are compared, so a kernel that adds, drops or moves rows is noticed and never misread.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from hostsight.channel import WHOLE_HOST, Subsystem
from hostsight.errors import NoDataError
from ingest.collector import Host, Metric, Slot, Tier, Values
from ingest.kept_file import KeptFile

LIVE = 0.001
"""Native period, seconds: the kernel counts each event as it happens."""
FOLDED = 1.0
"""Native period, seconds, of page counts that each CPU hands over once per `vm.stat_interval`."""

Words = Sequence[bytes]


def number(text: bytes) -> float:
    """The finite number that `text` is, else NaN."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def numbers(texts: Words) -> Values:
    """One float64 a text; what is no finite number is NaN."""
    try:
        values = np.array(texts, dtype=np.float64)
    except ValueError:
        return np.array([number(text) for text in texts])
    if np.isinf(values).any():
        values[np.isinf(values)] = np.nan
    return values


def picker(positions: Sequence[int]) -> Callable[[Words], tuple[bytes, ...]]:
    """A function that takes the words at `positions`."""
    if len(positions) > 1:
        return itemgetter(*positions)
    return lambda words: tuple(words[position] for position in positions)


class Place(NamedTuple):
    """Where a name and its value stand among the words of a file."""

    name: int
    value: int


Index = dict[bytes, Place]


@dataclass(frozen=True, slots=True)
class Format:
    """How a file falls into words, and how its lines (with the position of each one's first word) name their numbers."""

    index: Callable[[Iterator[tuple[int, list[bytes]]]], Index]
    split: Callable[[bytes], list[bytes]] = bytes.split

    def places(self, content: bytes) -> Index:
        return self.index(self._lines(content))

    def _lines(self, content: bytes) -> Iterator[tuple[int, list[bytes]]]:
        start = 0
        for line in content.splitlines():
            words = self.split(line)
            yield start, words
            start += len(words)


def _flat(lines: Iterator[tuple[int, list[bytes]]]) -> Index:
    return {words[0].rstrip(b":"): Place(at, at + 1) for at, words in lines if len(words) > 1}


def _of_node(lines: Iterator[tuple[int, list[bytes]]]) -> Index:
    return {words[2].rstrip(b":"): Place(at + 2, at + 3) for at, words in lines if len(words) > 3}


def _pairs(lines: Iterator[tuple[int, list[bytes]]]) -> Index:
    index = {}
    for at, words in lines:
        for position in range(1, len(words) - 1, 2):
            name = words[0].rstrip(b":") + b"." + words[position]
            index[name] = Place(at + position, at + position + 1)
    return index


def _headed(lines: Iterator[tuple[int, list[bytes]]]) -> Index:
    index = {}
    header_at, header = 0, [b""]
    for at, words in lines:
        if words and words[0] == header[0]:
            for position in range(1, min(len(header), len(words))):
                name = words[0].rstrip(b":") + b"." + header[position]
                index[name] = Place(header_at + position, at + position)
        elif words:
            header_at, header = at, words
    return index


def _split_assignments(content: bytes) -> list[bytes]:
    return content.replace(b"=", b" ").split()


FLAT = Format(_flat)
"""`pgfault 1590560` or `MemFree:  24308200 kB`."""
OF_NODE = Format(_of_node)
"""`Node 0 MemFree:  4435124 kB`, named `MemFree`."""
PAIRS = Format(_pairs)
"""`TCP: inuse 1 orphan 0`, named `TCP.inuse`, `TCP.orphan`."""
HEADED = Format(_headed)
"""`Tcp: InSegs OutSegs` above `Tcp: 8490 4785`, named `Tcp.InSegs`, `Tcp.OutSegs`."""
ASSIGNED = Format(_pairs, _split_assignments)
"""`some avg10=2.61 total=4572336`, named `some.avg10`, `some.total`."""


class WordTable:
    """The numbers called `names` in one file, in that order, read again and again."""

    def __init__(self, path: Path, form: Format, names: Sequence[bytes]) -> None:
        self._file = KeptFile(path)
        self._form = form
        self._wanted = tuple(names)
        self.names: tuple[bytes, ...] = ()
        self._values = np.empty(0)

    def open(self) -> tuple[bytes, ...]:
        """The wanted names that the file has; raises OSError."""
        content = self._file.read()
        index = self._form.places(content)
        self.names = tuple(name for name in self._wanted if name in index)
        self._values = np.full(len(self.names), np.nan)
        self._settle(self._form.split(content), index)
        return self.names

    def read(self, out: Values) -> bool:
        """Fill `out`, one value a name; False where the file now has a wanted name that it lacked. Raises OSError."""
        content = self._file.read_changed()
        if content is not None:
            words = self._form.split(content)
            if not self._fits(words) and not self._look_again(content, words):
                return False
        out[:] = self._values
        return True

    def close(self) -> None:
        self._file.close()

    def _settle(self, words: Words, index: Index) -> None:
        places = [index[name] for name in self.names]
        self._pick_names = picker([place.name for place in places])
        self._pick_values = picker([place.value for place in places])
        self._count, self._seen = len(words), self._pick_names(words)

    def _fits(self, words: Words) -> bool:
        if len(words) != self._count or self._pick_names(words) != self._seen:
            return False
        self._values = numbers(self._pick_values(words))
        return True

    def _look_again(self, content: bytes, words: Words) -> bool:
        index = self._form.places(content)
        if sum(name in index for name in self._wanted) > len(self.names):
            return False
        if all(name in index for name in self.names):
            self._settle(words, index)
        found = [words[index[name].value] if name in index else b"" for name in self.names]
        self._values = numbers(found)
        return True


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
            self._absent.append((source.path, why(error), source.remedy))
            return []
        if not names:
            table.close()
            self._absent.append((source.path, "not supported", source.remedy))
            return []
        self._tables.append((slice(start, start + len(names)), table))
        return source.slots(names)
