"""What telegraf's measurements are in hostsight: `telegraf.toml`, read and checked."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files

import msgspec

from hostsight.channel import Subsystem

_TAG = re.compile(r"\{(\w+)\}")
_NOT = "!"


class Line(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What a field is here: its value times `factor` is `metric`."""

    metric: str
    unit: str
    factor: float = 1.0


class Sum(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`offset` plus each field of `terms` times its factor."""

    unit: str
    terms: dict[str, float]
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Reading:
    """What one metric is made of. `counter`: the metric is what it grows by in a second."""

    metric: str
    unit: str
    terms: Mapping[str, float]
    offset: float
    counter: bool


class Points(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """One kind of point. The head of `telegraf.toml` says what each key is."""

    measurement: str
    subsystem: Subsystem
    device: list[str]
    where: dict[str, str] = {}
    skip: dict[str, str] = {}
    series: list[str] = []
    gauges: dict[str, Line] = {}
    counters: dict[str, Line] = {}
    sums: dict[str, Sum] = {}

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        lines = [*_readings(self.gauges, counter=False), *_readings(self.counters, counter=True)]
        sums = [
            Reading(metric, one.unit, one.terms, one.offset, counter=False)
            for metric, one in self.sums.items()
        ]
        return (*lines, *sums)

    @cached_property
    def fields(self) -> frozenset[str]:
        return frozenset(name for reading in self.readings for name in reading.terms)

    @cached_property
    def tags(self) -> frozenset[str]:
        """All that decide whether a point fits, and which device and series it is of."""
        named = {tag for text in self.device for tag in _TAG.findall(text)}
        return frozenset({*self.where, *self.skip, *self.series, *named})

    def device_of(self, tags: Mapping[str, str]) -> str | None:
        """The device of a point with these tags; None where the point is none of this kind."""
        if not all(_fits(tags.get(tag, ""), wanted) for tag, wanted in self.where.items()):
            return None
        if any(re.fullmatch(pattern, tags.get(tag, "")) for tag, pattern in self.skip.items()):
            return None
        for text in self.device:
            if all(tags.get(tag) for tag in _TAG.findall(text)):
                return _TAG.sub(lambda found: tags[found[1]], text)
        return None


def _readings(lines: Mapping[str, Line], *, counter: bool) -> Iterator[Reading]:
    for field, line in lines.items():
        yield Reading(line.metric, line.unit, {field: line.factor}, 0.0, counter)


def _fits(value: str, wanted: str) -> bool:
    return value != wanted[1:] if wanted.startswith(_NOT) else value == wanted


@lru_cache(maxsize=1)
def mapping() -> Mapping[str, Sequence[Points]]:
    """Measurement -> the kinds of points it has."""
    document = tomllib.loads(files(__package__).joinpath("telegraf.toml").read_text("utf-8"))
    found: dict[str, list[Points]] = {}
    for points in msgspec.convert(document["points"], list[Points]):
        found.setdefault(points.measurement, []).append(points)
    return found
