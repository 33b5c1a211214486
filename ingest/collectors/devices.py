"""Collectors of files with one line a device, such as /proc/net/dev and /proc/diskstats.

A device that has done nothing since the start of the host is left out until it does something.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from hostsight.channel import Subsystem
from hostsight.errors import NoDataError
from ingest.collector import Host, Metric, Slot, Tier, Values
from ingest.collectors.tables import LIVE, unreadable
from ingest.collectors.words import Words, number, numbers, picker
from ingest.kept_file import KeptFile

_NAME = re.compile(rb"[^\s\0]{1,64}")


@dataclass(frozen=True, slots=True)
class Choice:
    """Devices to collect, the most wanted first, and those that have done nothing yet."""

    wanted: tuple[str, ...]
    quiet: tuple[str, ...]


@dataclass(slots=True)
class _Device:
    """A device that is collected: where its line and its values stand, and what the line said last."""

    name: str
    at: int
    place: slice
    width: int
    pick: Callable[[Words], tuple[bytes, ...]]
    text: bytes = field(default=b"")


class DeviceCollector(ABC):
    """A subclass names the file and its columns, says how a line is split, and chooses the devices."""

    name: ClassVar[str]
    tier: ClassVar[Tier] = Tier.FAST
    metrics: ClassVar[tuple[Metric, ...]]
    subsystem: ClassVar[Subsystem]
    path: ClassVar[str]

    def __init__(self) -> None:
        self._host: Host | None = None
        self._file: KeptFile | None = None
        self._devices: list[_Device] = []
        self._choice = Choice((), ())
        self._beyond = 0
        self._values = np.empty(0)
        self._lines = 0
        self._pick_quiet = picker(())
        self._quiet: tuple[bytes, ...] = ()

    @abstractmethod
    def columns(self, lines: Sequence[bytes]) -> Sequence[Metric | None]:
        """The metric of each number of a device's line; None where it is not taken."""

    @abstractmethod
    def split(self, line: bytes) -> tuple[str, Words]:
        """The device's name and its numbers; the name is empty where the line shows no device."""

    @abstractmethod
    def choose(self, host: Host, found: Mapping[str, Words]) -> Choice:
        """Which of the devices found are worth collecting."""

    def open(self, host: Host) -> Sequence[Slot]:
        self.close()
        self._host, self._file = host, KeptFile(host.path(self.path))
        try:
            lines = self._file.read().splitlines()
        except OSError as error:
            raise unreadable(self.path, error) from error
        self._choice = self._choose(host, lines)
        slots = self._list(lines)
        if not slots:
            raise NoDataError(f"{self.path} shows no device that has done anything")
        self._values = np.full(len(slots), np.nan)
        self._settle(lines)
        return slots

    def read(self, out: Values) -> bool:
        if self._file is None:
            return False
        content = self._file.read_changed()
        if content is not None and not self._update(content.splitlines()):
            return False
        out[:] = self._values
        return True

    def captured(self) -> Sequence[KeptFile]:
        return [self._file] if self._file is not None else []

    def absent(self) -> Sequence[tuple[str, str, str]]:
        if not self._beyond:
            return ()
        return [(f"{self._beyond} more of {self.name}", "over the limit", "raise [agent] device_limit")]

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _choose(self, host: Host, lines: Sequence[bytes]) -> Choice:
        choice = self.choose(host, {name: words for name, words in map(self.split, lines) if name})
        self._beyond = max(0, len(choice.wanted) - host.device_limit)
        return Choice(choice.wanted[: host.device_limit], choice.quiet)

    def _list(self, lines: Sequence[bytes]) -> list[Slot]:
        columns, slots = self.columns(lines), list[Slot]()
        self._devices = []
        for name, words in map(self.split, lines):
            if name in self._choice.wanted:
                taken = [at for at, metric in enumerate(columns[: len(words)]) if metric is not None]
                place = slice(len(slots), len(slots) + len(taken))
                self._devices.append(_Device(name, -1, place, len(words), picker(taken)))
                metrics = [metric for metric in columns[: len(words)] if metric is not None]
                slots += [Slot(self.subsystem, name, metric, LIVE, self.path) for metric in metrics]
        return slots

    def _settle(self, lines: Sequence[bytes]) -> None:
        """Note where the lines of the devices stand."""
        places = {self.split(line)[0]: at for at, line in enumerate(lines)}
        for device in self._devices:
            device.at = places[device.name]
        self._lines = len(lines)
        self._pick_quiet = picker([places[name] for name in self._choice.quiet])
        self._quiet = self._pick_quiet(lines)

    def _update(self, lines: Sequence[bytes]) -> bool:
        """Parse the lines that changed; False where other devices are wanted now."""
        if len(lines) != self._lines or self._pick_quiet(lines) != self._quiet:
            return self._look_again(lines)
        for device in self._devices:
            line = lines[device.at]
            if line != device.text:
                name, words = self.split(line)
                if name != device.name:
                    return self._look_again(lines)
                device.text = line
                self._values[device.place] = self._numbers(device, words)
        return True

    def _look_again(self, lines: Sequence[bytes]) -> bool:
        if self._host is None or self._choose(self._host, lines) != self._choice:
            return False
        self._settle(lines)
        return self._update(lines)

    def _numbers(self, device: _Device, words: Words) -> Values | float:
        return numbers(device.pick(words)) if len(words) == device.width else np.nan


def device_name(raw: bytes) -> str:
    """The name as text; empty where the kernel would call no device so."""
    return raw.decode("utf-8", "replace") if _NAME.fullmatch(raw) else ""


def busy(words: Words) -> float:
    """How much a device has done: 0 where all of its numbers are 0 or none."""
    return float(sum(value for value in map(number, words) if value > 0))
