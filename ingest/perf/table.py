"""Event tables: for each micro-architecture, which of its events stand for which metric. They lie in `tables/`.

name = "AMD Zen 4"
source = "Linux tools/perf/pmu-events/arch/x86/amdzen4"
cpus = ["AuthenticAMD-25-1[0-9A-F]"]          # as `cpuid.cpu_id` names them; regular expressions
groups = [["cycles", "instructions"]]         # what is counted, and read, together

[events]
cycles = "cpu-cycles"                         # an event that the kernel knows by name
instructions = "event=0xc0"                   # or one in the terms of the PMU's format folder

[metrics]
cycles_per_s = "cycles"                       # a weighted sum of events
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import msgspec

from ingest.perf.formula import Formula, parse_formula

_FOLDER = "ingest.perf.tables"
_GENERIC = "generic"
_MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class EventTable:
    """`groups` name events; every event of a formula is in one of them."""

    name: str
    source: str
    cpus: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    events: dict[str, str]
    metrics: dict[str, Formula]

    def fits(self, cpu_id: str) -> bool:
        return any(re.fullmatch(pattern, cpu_id) for pattern in self.cpus)


class Controller(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Memory controllers of a kind: which PMUs, and their events for data `read`, written (`write`) or moved either way (`moved`).

    `bytes` is what one count stands for, by the same three names, where the PMU itself does not say it.
    `cpus`, where given, are the only processors that it holds for.
    """

    name: str
    source: str
    pmus: str
    cpus: tuple[str, ...] = (".*",)
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    bytes: dict[str, float] = {}

    def fits(self, cpu_id: str) -> bool:
        return any(re.fullmatch(pattern, cpu_id) for pattern in self.cpus)


class _TableFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    source: str
    groups: tuple[tuple[str, ...], ...]
    events: dict[str, str]
    metrics: dict[str, str]
    cpus: tuple[str, ...] = ()


class _MemoryFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    controllers: tuple[Controller, ...]


def table_for(cpu_id: str) -> EventTable:
    """The table of a micro-architecture; the generic one where none is kept for it."""
    fitting = (table for table in tables().values() if table.fits(cpu_id))
    return next(fitting, tables()[_GENERIC])


def controllers_for(cpu_id: str) -> tuple[Controller, ...]:
    """Kinds of memory controllers that a host of this processor may have, the best first."""
    return tuple(kind for kind in _controllers() if kind.fits(cpu_id))


@lru_cache(maxsize=1)
def tables() -> Mapping[str, EventTable]:
    """All tables by file name, without its ending. Raises ValueError that names the file with a mistake."""
    names = sorted(entry.name.removesuffix(".toml") for entry in _files() if entry.name.endswith(".toml"))
    return {name: parse_table(name, _text(name)) for name in names if name != _MEMORY}


def parse_table(file: str, text: str) -> EventTable:
    """The table that `text` is. Raises ValueError that names `file` and what is wrong."""
    try:
        raw = msgspec.convert(tomllib.loads(text), _TableFile)
        metrics = {name: parse_formula(formula) for name, formula in raw.metrics.items()}
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, ValueError) as error:
        raise ValueError(f"{file}.toml: {error}") from error
    grouped = [name for group in raw.groups for name in group]
    used = {name for formula in metrics.values() for name in formula.events}
    if sorted(grouped) != sorted(raw.events) or not used <= set(raw.events):
        raise ValueError(
            f"{file}.toml: each event belongs in one group, and formulas take events of the table"
        )
    return EventTable(raw.name, raw.source, raw.cpus, raw.groups, raw.events, metrics)


@lru_cache(maxsize=1)
def _controllers() -> tuple[Controller, ...]:
    return msgspec.convert(tomllib.loads(_text(_MEMORY)), _MemoryFile).controllers


def _files() -> list[resources.abc.Traversable]:
    return [*resources.files(_FOLDER).iterdir()]


def _text(name: str) -> str:
    return resources.files(_FOLDER).joinpath(f"{name}.toml").read_text("utf-8")
