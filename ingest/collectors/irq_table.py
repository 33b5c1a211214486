"""/proc/interrupts as a table of counts by row and CPU, read a line at a time.

The file has hundreds of rows, and on the largest hosts more than a thousand CPUs (13 MB). Only rows that changed are
parsed, and no more than a buffer of text is held.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ingest.collector import Values
from ingest.collectors.words import number, numbers

_CPU = re.compile(rb"CPU(\d{1,6})")
_BUFFER = 2**16
_LONGEST_LINE, _MOST_LINES = 2**20, 2**16
"""The kernel writes no more for the 8,192 CPUs that it can have."""

_Name = tuple[bytes, bytes, bool]
"""What an IrqRow is made of: label, description, and whether it counts by CPU."""


def count_cpus(path: Path) -> int:
    """Columns of the table; 0 where it cannot be read."""
    try:
        with _opened(path) as file:
            return len(_CPU.findall(file.readline(_LONGEST_LINE)))
    except OSError:
        return 0


@dataclass(frozen=True, slots=True)
class IrqRow:
    """`label` is an interrupt's number (`24`) or the kernel's short name (`LOC`). `by_cpu` is False for a single sum, and for text that is no row."""

    label: str
    description: str
    by_cpu: bool


class IrqTable:
    """`counts` is float64[rows, cpus], NaN where a row makes no sense; a row that is one sum has it in column 0."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._header = b""
        self._names: list[_Name] = []
        self._hashes: list[int] = []
        self.cpus: tuple[int, ...] = ()
        self.rows: list[IrqRow] = []
        self.counts: Values = np.empty((0, 0))

    def open(self) -> None:
        """Find out the rows and CPUs, and read them; raises OSError."""
        self._names, self._hashes = [], []
        counts: list[Values] = []
        with _opened(self._path) as file:
            lines = _lines(file)
            self._header = next(lines, b"")
            self.cpus = tuple(int(found) for found in _CPU.findall(self._header))
            for line in lines:
                name, values = self._parse(line)
                self._names.append(name)
                self._hashes.append(hash(line))
                counts.append(values)
        self.rows = [IrqRow(_text(label), _text(rest), by_cpu) for label, rest, by_cpu in self._names]
        self.counts = np.array(counts).reshape(len(counts), len(self.cpus))

    def read(self) -> bool:
        """Bring `counts` up to date; False where rows or CPUs are not those of `open`. Raises OSError."""
        at = 0
        with _opened(self._path) as file:
            lines = _lines(file)
            if next(lines, b"") != self._header:
                return False
            for line in lines:
                if not self._update(at, line):
                    return False
                at += 1
        return at == len(self.rows)

    def _update(self, at: int, line: bytes) -> bool:
        if at >= len(self._names):
            return False
        changed = hash(line)
        if changed == self._hashes[at]:
            return True
        name, self.counts[at] = self._parse(line)
        self._hashes[at] = changed
        return name == self._names[at]

    def _parse(self, line: bytes) -> tuple[_Name, Values]:
        label, _, rest = line.partition(b":")
        width = len(self.cpus)
        words = rest.split(None, width)
        description = words[width] if len(words) > width else b""
        if len(words) >= width > 0:
            return (label, description, True), numbers(words[:width])
        values = np.zeros(width)
        values[:1] = number(words[0]) if len(words) == 1 else np.nan
        return (label, description, False), values


def _opened(path: Path) -> BinaryIO:
    """Without waiting: what stands in the file's place may be a pipe that nobody writes to."""
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb", _BUFFER)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Raises OSError where there is more than any kernel writes: what stands in the file's place may have no end."""
    for _ in range(_MOST_LINES):
        line = file.readline(_LONGEST_LINE)
        if not line:
            return
        if len(line) == _LONGEST_LINE:
            break
        yield line
    raise OSError(errno.EFBIG, "longer than any kernel writes it")


def _text(raw: bytes) -> str:
    return " ".join(raw.decode("utf-8", "replace").split())
