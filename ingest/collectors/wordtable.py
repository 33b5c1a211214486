"""Kernel files that are tables of named numbers.

A name is looked up once, when the file is opened; after that its value is picked by position, and the names at those
positions are compared, so a kernel that adds, drops or moves rows is noticed and never misread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ingest.collector import Values
from ingest.collectors.words import Words, numbers, picker
from ingest.kept_file import KeptFile


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
        self.file = KeptFile(path)
        self._form = form
        self._wanted = tuple(names)
        self.names: tuple[bytes, ...] = ()
        self._values = np.empty(0)

    def open(self) -> tuple[bytes, ...]:
        """The wanted names that the file has; raises OSError."""
        content = self.file.read()
        index = self._form.places(content)
        self.names = tuple(name for name in self._wanted if name in index)
        self._values = np.full(len(self.names), np.nan)
        self._settle(self._form.split(content), index)
        return self.names

    def read(self, out: Values) -> bool:
        """Fill `out`, one value a name; False where the file now has a wanted name that it lacked. Raises OSError."""
        content = self.file.read_changed()
        if content is not None:
            words = self._form.split(content)
            if not self._fits(words) and not self._look_again(content, words):
                return False
        out[:] = self._values
        return True

    def close(self) -> None:
        self.file.close()

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
