"""Performance monitoring units as the kernel lists them: their number, CPUs, and how they encode an event.

/sys/bus/event_source/devices; Documentation/ABI/testing/sysfs-bus-event_source-devices-format and -events.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ingest.collector import Host
from ingest.collectors.smallfiles import names_in, read_word
from ingest.collectors.sysclass import natural
from ingest.collectors.topology import parse_list
from ingest.perf.event import Event

_DEVICES = "/sys/bus/event_source/devices"
_BITS = 64
_WORDS = ("config", "config1", "config2")
_CORE = re.compile(r"cpu|cpu_core|cpu_atom|armv[78]_\w+|cpum_cf")
_UNITS = {"": 1.0, "Bytes": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}


@dataclass(frozen=True, slots=True)
class Pmu:
    """`cpus` are those on which its events are opened: one a package for units outside the cores."""

    name: str
    type: int
    cpus: tuple[int, ...]
    path: Path

    def event(self, terms: str) -> Event:
        """An event in the PMU's own terms, `event=0x3c,umask=0x1,inv`; or one of its aliases by name.

        Raises ValueError where the PMU has no such term or alias.
        """
        if "=" not in terms:
            alias = read_word(self.path / "events" / terms)
            if not alias:
                raise ValueError(f"{self.name} has no event '{terms}'")
            terms = alias
        words = dict.fromkeys(_WORDS, 0)
        for term in terms.split(","):
            name, _, value = term.strip().partition("=")
            self._put(words, name, int(value or "1", 0))
        return Event(self.type, *words.values())

    def bytes_per_count(self, alias: str) -> float | None:
        """What one count of an alias stands for, in bytes; None where the PMU does not say."""
        scale, unit = (read_word(self.path / "events" / f"{alias}.{kind}") for kind in ("scale", "unit"))
        try:
            size = float(scale) * _UNITS[unit]
        except (ValueError, KeyError):
            return None
        return size if 0 < size < math.inf else None

    def _put(self, words: dict[str, int], name: str, value: int) -> None:
        if name in words:
            words[name] |= value
            return
        layout = read_word(self.path / "format" / name)
        word, _, places = layout.partition(":")
        if word not in words:
            raise ValueError(f"{self.name} has no term '{name}'")
        for place in (place for place in parse_list(places) if place < _BITS):
            words[word] |= (value & 1) << place
            value >>= 1
        if value:
            raise ValueError(f"{self.name}: the value of '{name}' has too many bits")


def pmus(host: Host, pattern: str) -> list[Pmu]:
    """PMUs whose whole name matches the regular expression, `imc_2` before `imc_10`."""
    matching = re.compile(pattern)
    names = [name for name in names_in(host.path(_DEVICES)) if matching.fullmatch(name)]
    return [*_read(host, sorted(names, key=natural))]


def core_pmu(host: Host) -> Pmu | None:
    """The PMU of the cores; None where there is none, or more than one kind of core."""
    found = pmus(host, _CORE.pattern)
    return found[0] if len(found) == 1 else None


def _read(host: Host, names: list[str]) -> Iterator[Pmu]:
    for name in names:
        path = host.path(_DEVICES, name)
        number = read_word(path / "type")
        if number.isdecimal():
            cpus = read_word(path / "cpumask") or read_word(path / "cpus")
            yield Pmu(name, int(number), tuple(parse_list(cpus)), path)
