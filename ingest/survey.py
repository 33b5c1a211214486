"""One look at a host: every channel once (`sample`), and what can be collected here or not (`doctor`)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from shlex import quote
from typing import Literal

from hostsight.channel import SUBSYSTEMS, Kind, Subsystem
from hostsight.clock import Clock, SystemClock, iso
from hostsight.settings import Settings
from ingest.background import BackgroundReader
from ingest.collector import Host, Metric, Slot
from ingest.collectors.agent import AgentCollector, TicksCollector
from ingest.equipment import SUBSYSTEM_OF, WORDS, Memory, missing, present
from ingest.equipment import Kind as DeviceKind
from ingest.gaps import graphics, left_out, outside, shut, silent
from ingest.inventory import Inventory, take_inventory
from ingest.kept_file import read_whole
from ingest.patience import PATIENCE_SECONDS, within
from ingest.reader import FAULTS, Condition, Reader, describe
from ingest.registry import enabled, subsystem_of
from ingest.sampler import host_of

_MOST_GAPS = 100
"""So many things that one collector lacks are told."""

_RETURN: dict[DeviceKind, str] = {
    "cpu": "echo 1 | sudo tee /sys/devices/system/cpu/{}/online",
    "gpu": "echo 1 | sudo tee /sys/bus/pci/rescan",
}
"""What may bring a lost device back; for others the way on is to find out, or to expect it no longer."""


@dataclass(frozen=True, slots=True)
class SampleRow:
    """One channel's value, finite. kind `counter`: a raw, growing count, from a tree that stands still."""

    subsystem: Subsystem
    device: str
    metric: str
    value: float
    unit: str
    kind: Kind | Literal["counter"]
    source: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Something this host could have but does not give. `remedy` is a command that would enable it, or empty."""

    subsystem: Subsystem
    what: str
    reason: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Survey:
    """What `doctor` shows. `channels`: how many are collected, by subsystem."""

    host: str
    root: str
    channels: dict[str, int]
    collectors: dict[str, Condition]
    findings: tuple[Finding, ...]
    inventory: Inventory | None


class _Probe:
    """One collector, opened and read apart from the others, so that one that hangs costs PATIENCE_SECONDS."""

    def __init__(self, reader: Reader, clock: Clock) -> None:
        self.reader = reader
        self.name = reader.collector.name
        self.subsystem = subsystem_of(reader.collector)
        self._background = BackgroundReader(reader, clock)

    @property
    def slots(self) -> tuple[Slot, ...]:
        return self._background.slots

    @property
    def condition(self) -> Condition:
        if self._background.pending:
            return Condition("failed", error=f"did not return within {PATIENCE_SECONDS:.0f} s")
        return self._background.condition

    def raw(self) -> list[float]:
        """The last reading before rates and scale; empty where there is none."""
        if self._background.pending or self.condition.state != "ok":
            return []
        return [float(value) for value in self.reader.raw]

    def absent(self) -> Sequence[tuple[str, str, str]]:
        """What the collector says is missing; asked only when it is at rest."""
        if self._background.pending:
            return ()
        try:
            return within(PATIENCE_SECONDS, self._gaps)
        except FAULTS as error:  # told, and hides no other's findings
            return ((f"what collector {self.name} lacks", f"failed: {describe(error)}", ""),)

    def _gaps(self) -> list[tuple[str, str, str]]:
        return [_gap(said) for said in islice(self.reader.collector.absent(), _MOST_GAPS)]

    def ask(self) -> None:
        self._background.poll(due=True)

    def values(self) -> list[float]:
        """The reading that `ask` began; empty where there is none."""
        values = self._background.wait(PATIENCE_SECONDS)
        return [] if values is None else [float(value) for value in values]

    def close(self) -> None:
        self._background.close()


def _gap(said: object) -> tuple[str, str, str]:
    """What, reason and remedy, as `absent` must say them; raises TypeError."""
    match said:
        case (str(what), str(reason), str(remedy)):
            return what, reason, remedy
    raise TypeError(f"absent() gave {type(said).__name__}, not three texts")


def sample_once(settings: Settings, *, interval: float = 0.2, clock: Clock | None = None) -> list[SampleRow]:
    """Every channel that has a value now; rates between two readings `interval` seconds apart.

    In a captured tree, which stands still meanwhile, counters come as they are, in units instead of units per second.
    """
    clock = clock or SystemClock()
    host = host_of(settings.agent)
    with _probes(settings, host, clock) as probes:
        before = _pulse(host)
        _read(probes)
        clock.sleep(interval)
        if host.live or _pulse(host) != before:
            rows = (row for probe, values in _read(probes) for row in _rows(probe.slots, values))
        else:
            rows = (row for probe in probes for row in _frozen_rows(probe))
        away = outside(host, (slot for probe in probes for slot in probe.slots))
        return _distinct(row for row in rows if row.source not in away)


def _pulse(host: Host) -> bytes:
    """What changes all the time wherever a kernel runs, also below a root such as a container's view of its host."""
    return read_whole(host.path("/proc/stat"))


def survey(settings: Settings, *, clock: Clock | None = None, memory: Memory | None = None) -> Survey:
    """Open and read every collector once, and say what is missing and why; `memory`: the devices to expect."""
    host = host_of(settings.agent)
    with _probes(settings, host, clock or SystemClock()) as probes:
        _read(probes)
        slots = [slot for probe in probes for slot in probe.slots]
        away = outside(host, slots)
        collected = Counter[str](slot.subsystem for slot in slots if slot.source not in away)
        return Survey(
            host=settings.host,
            root=str(host.root),
            channels={name: collected[name] for name in SUBSYSTEMS if name != "agent"},
            collectors={probe.name: probe.condition for probe in probes},
            findings=(
                *_lost(host, memory),
                *(Finding("agent", *gap) for gap in shut(host)),
                *(Finding("gpu", *gap) for gap in graphics(host, slots)),
                # two collectors of the same hardware say the same of it
                *dict.fromkeys(finding for probe in probes for finding in _findings(host, probe, away)),
            ),
            inventory=take_inventory() if host.live else None,
        )


@contextmanager
def _probes(settings: Settings, host: Host, clock: Clock) -> Iterator[list[_Probe]]:
    """Every enabled collector but those that measure the agent itself."""
    given = enabled(settings.agent.disabled, settings.agent.collectors)
    chosen = [one for one in given if not isinstance(one, AgentCollector | TicksCollector)]
    probes = [_Probe(Reader(collector, host, clock), clock) for collector in chosen]
    try:
        yield probes
    finally:
        for probe in probes:
            probe.close()


def _read(probes: Sequence[_Probe]) -> list[tuple[_Probe, list[float]]]:
    """One reading of each, all at the same time."""
    for probe in probes:
        probe.ask()
    return [(probe, probe.values()) for probe in probes]


def _rows(slots: Sequence[Slot], values: Sequence[float]) -> Iterator[SampleRow]:
    for slot, value in zip(slots, values, strict=False):
        metric = slot.metric
        if math.isfinite(value):
            yield SampleRow(
                slot.subsystem, slot.device, metric.name, value, metric.unit, metric.kind, slot.source
            )


def _frozen_rows(probe: _Probe) -> Iterator[SampleRow]:
    for slot, raw in zip(probe.slots, probe.raw(), strict=False):
        metric = slot.metric
        counter = metric.kind == "rate"
        value, unit = _counted(raw, metric) if counter else (raw * metric.scale, metric.unit)
        kind: Kind | Literal["counter"] = "counter" if counter else metric.kind
        if math.isfinite(value):
            yield SampleRow(slot.subsystem, slot.device, metric.name, value, unit, kind, slot.source)


def _counted(raw: float, metric: Metric) -> tuple[float, str]:
    """A counter's value and unit: a share of time was counted as time, power as energy."""
    if metric.unit == "%":
        return raw * metric.scale / 100, "s"
    if metric.unit == "W":
        return raw * metric.scale, "J"
    return raw * metric.scale, metric.unit.removesuffix("/s")


def _distinct(rows: Iterable[SampleRow]) -> list[SampleRow]:
    """A channel that two collectors give is shown once."""
    first: dict[tuple[str, str, str], SampleRow] = {}
    for row in rows:
        first.setdefault((row.subsystem, row.device, row.metric), row)
    return [*first.values()]


def _lost(host: Host, memory: Memory | None) -> Iterator[Finding]:
    """The devices that were there once and are not now."""
    for one in missing(memory.load(), present(host)) if memory else ():
        kind, name = one.device.kind, one.device.name
        since = f" since {iso(one.lost_ns)}" if one.lost_ns else ""
        yield Finding(
            SUBSYSTEM_OF[kind],
            f"{WORDS[kind]} {name}",
            f"was there before and is gone{since}",
            _RETURN.get(kind, "").format(name) or f"hostsight doctor --forget {quote(name)}",
        )


def _findings(host: Host, probe: _Probe, away: frozenset[str]) -> list[Finding]:
    condition = probe.condition
    if condition.state == "failed":
        return [Finding(probe.subsystem, f"collector {probe.name}", f"failed: {condition.error}", "")]
    gaps = [
        *probe.absent(),
        *silent(host, probe.reader.collector, probe.slots, probe.raw()),
        *left_out(probe.name, probe.slots, away),
    ]
    if condition.state == "absent" and not gaps:
        return [Finding(probe.subsystem, condition.error, condition.reason, condition.remedy)]
    return [Finding(probe.subsystem, *gap) for gap in gaps]
