"""Collectors of many small files, such as the attributes of /sys: a number or a few in each.

They are read in the background: an attribute may ask the hardware, or sleep. Files are opened for each reading, so that
a host with thousands of them needs no descriptor for each, and what vanished and came back is found.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from hostsight.errors import NoDataError
from ingest.collector import Host, Metric, Slot, Tier, Values
from ingest.collectors.tables import AS_ROOT, why
from ingest.collectors.words import number

Parser = Callable[[bytes], Sequence[float] | Values]
_SIZE = 65_536
_NAMED = 3


def read_small(path: str | Path) -> bytes:
    """The first 64 KiB of a file; raises OSError, for a folder too."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return os.read(fd, _SIZE)
    finally:
        os.close(fd)


def read_word(path: str | Path) -> str:
    """The text of an attribute without the blanks around it; empty where it cannot be read."""
    try:
        return read_small(path).decode("utf-8", "replace").strip("\0 \t\r\n")
    except OSError:
        return ""


def names_in(path: str | Path) -> list[str]:
    """Names in a folder, sorted; empty where there is none."""
    try:
        return sorted(os.listdir(path))  # noqa: PTH208 - names will do, and are asked for often
    except OSError:
        return []


def is_there(path: str | Path) -> bool:
    """Whether something is there, a link followed; what may not be looked at is not. Path.exists raises there."""
    return os.path.exists(path)  # noqa: PTH110 - Path.exists raises, see above


def is_folder(path: str | Path) -> bool:
    """The same of a folder."""
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises as Path.exists does


def is_link(path: str | Path) -> bool:
    """The same of a link, which may lead nowhere."""
    return os.path.islink(path)  # noqa: PTH114 - so does Path.is_symlink


def one_number(content: bytes) -> tuple[float]:
    """The number that the whole file is."""
    return (number(content.strip()),)


def plain(text: str, limit: int = 48) -> str:
    """`text` as a part of a device's name: printable, without blanks."""
    return "".join(char if char.isprintable() and not char.isspace() else "_" for char in text)[:limit]


@dataclass(frozen=True, slots=True)
class SmallFile:
    """A file below the root, what it fills, and how: `parse` gives a number a slot, NaN where it does not say."""

    path: Path
    slots: tuple[Slot, ...]
    parse: Parser = one_number


@dataclass(slots=True)
class _Entry:
    """A file that is read: which of its numbers go where, and which it did not give when it was opened."""

    path: str
    parse: Parser
    places: list[tuple[int, int]]
    lacking: list[tuple[int, Slot]]


class SmallFilesCollector(ABC):
    """A subclass lists its files, and the folders in which coming and going hardware shows.

    A file that is missing, refused or makes no sense costs its own channels only; one that is refused is told by
    `absent`. What gave no number at first is looked at again, and listed for good once it does.
    """

    name: ClassVar[str]
    tier: ClassVar[Tier] = Tier.MEDIUM
    background: ClassVar[bool] = True
    metrics: ClassVar[tuple[Metric, ...]]
    nothing: ClassVar[str]
    """What NoDataError says where there is no such hardware."""
    remedy: ClassVar[str] = ""
    """What would make it appear, where that can be said."""
    permission_remedy: ClassVar[str] = AS_ROOT

    def __init__(self) -> None:
        self._host: Host | None = None
        self._entries: list[_Entry] = []
        self._folders: list[str] = []
        self._seen: list[list[str]] = []
        self._refused: dict[tuple[str, str], list[str]] = {}
        self._left_out: set[str] = set()
        self._ever: set[Slot] = set()
        """Slots that gave a number after they had been listed without: they stay, though they may fall silent again."""

    @abstractmethod
    def files(self, host: Host) -> Iterable[SmallFile]:
        """The files of this family, the most wanted devices first."""

    @abstractmethod
    def folders(self, host: Host) -> Sequence[Path]:
        """Folders whose list of names changes with the hardware."""

    def open(self, host: Host) -> Sequence[Slot]:
        self.close()
        self._host, self._folders = host, [str(folder) for folder in self.folders(host)]
        self._seen = self._look()
        slots: list[Slot] = []
        devices: set[str] = set()
        for file in self.files(host):
            device = file.slots[0].device
            if device not in devices and len(devices) == host.device_limit:
                self._left_out.add(device)
                continue
            if self._add(file, slots):
                devices.add(device)
        if not slots:
            raise self._no_data()
        return slots

    def read(self, out: Values) -> bool:
        if self._host is None or self._look() != self._seen:
            return False
        failure: OSError | None = None
        failures = 0
        for entry in self._entries:
            try:
                values = entry.parse(read_small(entry.path))
            except OSError as error:
                failure, failures = error, failures + 1
                continue
            came = {slot for at, slot in entry.lacking if math.isfinite(values[at])}
            if came:
                self._ever |= came
                return False
            for at, place in entry.places:
                out[place] = values[at]
        if failure is not None and failures == len(self._entries):
            raise failure
        return True

    def absent(self) -> Sequence[tuple[str, str, str]]:
        found = [
            (listed(metric, devices), reason, self.permission_remedy if reason == "permission" else "")
            for (metric, reason), devices in self._refused.items()
        ]
        if self._left_out:
            count = len(self._left_out)
            found.append((f"{count} more of {self.name}", "over the limit", "raise [agent] device_limit"))
        return found

    def close(self) -> None:
        self._host = None
        self._entries, self._refused, self._left_out = [], {}, set()

    def _look(self) -> list[list[str]]:
        return [names_in(folder) for folder in self._folders]

    def _add(self, file: SmallFile, slots: list[Slot]) -> bool:
        """Append the slots that the file fills now; False where it fills none."""
        try:
            values = file.parse(read_small(file.path))
        except FileNotFoundError:
            return False
        except OSError as error:
            values = np.full(len(file.slots), np.nan)
            self._refuse(file.slots, why(error))
        else:
            self._refuse([slot for slot, value in zip(file.slots, values, strict=True) if math.isnan(value)])
        entry = _Entry(str(file.path), file.parse, [], [])
        for at, (slot, value) in enumerate(zip(file.slots, values, strict=True)):
            if math.isnan(value) and slot not in self._ever:
                entry.lacking.append((at, slot))
            else:
                entry.places.append((at, len(slots)))
                slots.append(slot)
        self._entries.append(entry)
        return bool(entry.places)

    def _refuse(self, slots: Sequence[Slot], reason: str = "N/A") -> None:
        for slot in slots:
            self._refused.setdefault((slot.metric.name, reason), []).append(slot.device)

    def _no_data(self) -> NoDataError:
        gaps = self.absent()
        if not gaps:
            return NoDataError(self.nothing, "no such device", self.remedy)
        what, reason, remedy = gaps[0]
        more = f", and {len(gaps) - 1} more of {self.name}," if len(gaps) > 1 else ""
        return NoDataError(f"{what}{more} cannot be read", reason, remedy)


def listed(metric: str, devices: Sequence[str]) -> str:
    """`link_up of eth0, eth1, eth2 and 4 more`."""
    named = ", ".join(devices[:_NAMED])
    more = f" and {len(devices) - _NAMED} more" if len(devices) > _NAMED else ""
    return f"{metric} of {named}{more}"


def keyed(keys: Sequence[bytes]) -> Parser:
    """A parser of lines such as `nr_throttled 12`: the first number after each of `keys`."""

    def parse(content: bytes) -> list[float]:
        found: dict[bytes, bytes] = {}
        for line in content.splitlines():
            words = line.split(None, 2)
            if len(words) > 1:
                found.setdefault(words[0], words[1])
        return [number(found.get(key, b"")) for key in keys]

    return parse
