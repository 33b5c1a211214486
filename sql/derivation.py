"""Derived metrics: a `.sql` file each in `sql/derived/`, whose header says what it takes and gives.

The file's name is the metric's. Its header:

    -- What it tells, in a sentence or two.
    --
    -- subsystem  network
    -- grain      device     one value a device that has all inputs, or `host`: one value over all devices
    -- unit       %
    -- inputs     network.rx_packets_per_s, network.rx_dropped_per_s
    -- devices    cpu*       only devices of this shape count (optional)
    -- at_least   2          devices that must have an input, for grain host (optional)
    -- formula    100 * dropped / (packets + dropped)

Below it stands an expression over the means that the inputs have in a pane, each named as its metric and null where it
is absent; for grain host they are aggregated over the devices. A null or non-finite value is absent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import groupby
from typing import Literal, cast

import pyarrow as pa

from hostsight.channel import SUBSYSTEMS, WHOLE_HOST, Channel, Subsystem
from hostsight.text import encodable
from sql import engine

_FIELD = re.compile(r"^-- (\w+)\s{2,}(.+)$")
_REQUIRED = ("subsystem", "grain", "unit", "inputs", "formula")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Derived:
    """One derived metric. `inputs` are (subsystem, metric); `expression` is SQL over their metrics' names."""

    metric: str
    subsystem: Subsystem
    grain: Literal["device", "host"]
    unit: str
    inputs: tuple[tuple[str, str], ...]
    devices: str
    at_least: int
    formula: str
    meaning: str
    expression: str


@dataclass(frozen=True, slots=True)
class Wire:
    """`sources` feed the derived metric `of` on `target`."""

    of: Derived
    target: Channel
    sources: tuple[Channel, ...]


@lru_cache(maxsize=1)
def catalogue() -> tuple[Derived, ...]:
    """All derived metrics, by name."""
    return tuple(parse(name, engine.statement(f"derived/{name}")) for name in engine.names("derived"))


def parse(metric: str, text: str) -> Derived:
    """The derived metric of one file; raises ValueError that names what its header lacks."""
    fields = {found[1]: found[2].strip() for found in map(_FIELD.match, text.splitlines()) if found}
    lacking = [name for name in _REQUIRED if name not in fields]
    if lacking or fields["subsystem"] not in SUBSYSTEMS or fields["grain"] not in {"device", "host"}:
        raise ValueError(f"sql/derived/{metric}.sql: header lacks {lacking or 'a known subsystem or grain'}")
    inputs = tuple(_input(word) for word in fields["inputs"].split(","))
    wrong = [name for name in (metric, *(name for _, name in inputs)) if not _NAME.fullmatch(name)]
    if wrong:
        raise ValueError(f"sql/derived/{metric}.sql: {wrong} are no metrics' names")
    return Derived(
        metric=metric,
        subsystem=cast(Subsystem, fields["subsystem"]),
        grain=cast(Literal["device", "host"], fields["grain"]),
        unit=fields["unit"],
        inputs=inputs,
        devices=fields.get("devices", "*"),
        at_least=int(fields.get("at_least", "1")),
        formula=fields["formula"],
        meaning=_sentence(text),
        expression=engine.code(text),
    )


def _input(word: str) -> tuple[str, str]:
    subsystem, _, metric = word.strip().partition(".")
    return subsystem, metric


def _sentence(text: str) -> str:
    """The header's lines up to its first empty one."""
    lines = text.split("\n--\n", 1)[0].splitlines()
    return " ".join(line.removeprefix("-- ") for line in lines)


def wires(channels: Sequence[Channel], period_seconds: float) -> list[Wire]:
    """What can be derived from `channels`, host by host."""
    found: list[Wire] = []
    ordered = sorted(channels, key=lambda channel: channel.host)
    for host, group in groupby(ordered, key=lambda channel: channel.host):
        there = list(group)
        for derived in catalogue():
            for device, sources in _fed(derived, there):
                target = Channel(host, derived.subsystem, device, derived.metric, "gauge", derived.unit,
                                 period_seconds, "derived")  # fmt: skip
                found.append(Wire(derived, target, sources))
    return found


def _fed(derived: Derived, channels: Sequence[Channel]) -> Iterator[tuple[str, tuple[Channel, ...]]]:
    """(device of the result, the channels it takes) for each device that has all inputs."""
    fitting = [
        channel
        for channel in channels
        if (channel.subsystem, channel.metric) in derived.inputs
        and fnmatchcase(channel.device, derived.devices)
        and (derived.grain == "device" or channel.device != WHOLE_HOST)
    ]
    by_device: dict[str, list[Channel]] = {}
    for channel in fitting:
        by_device.setdefault(channel.device, []).append(channel)
    complete = {device: tuple(has) for device, has in by_device.items() if len(has) == len(derived.inputs)}
    if derived.grain == "device":
        yield from complete.items()
    elif len(complete) >= derived.at_least:
        yield WHOLE_HOST, tuple(channel for has in complete.values() for channel in has)


class Derivation:
    """The derived metrics of one set of channels, as one statement over `panes`."""

    def __init__(self, channels: Sequence[Channel], period_seconds: float) -> None:
        self._wires = wires(channels, period_seconds)
        self.channels = tuple(wire.target for wire in self._wires)
        self.statement = _compose({wire.of.metric: wire.of for wire in self._wires})

    @property
    def tables(self) -> Mapping[str, pa.Table]:
        """What `statement` reads, `panes` excepted."""
        return {
            "derived_inputs": _inputs_table(self._wires),
            "derived_outputs": _outputs_table(self._wires),
        }


def _compose(metrics: dict[str, Derived]) -> str:
    """One statement for all `metrics`, empty where there are none: a hundred small ones would cost ten times as much.

    Every name in it comes from this package's files and fits `_NAME`.
    """
    if not metrics:
        return ""
    names = sorted({metric for derived in metrics.values() for _, metric in derived.inputs})
    columns = ", ".join(f"means['{name}'] AS {name}" for name in names)
    parts = "\n  UNION ALL\n".join(_selects(metrics.values()))
    head, tail = engine.statement("derive", "inputs"), engine.statement("derive", "outputs")
    return f"{head}{columns}\n  FROM fed\n),\nderived AS (\n{parts}\n)\n{tail}"


def _selects(metrics: Iterable[Derived]) -> Iterator[str]:
    """A SELECT for all metrics of grain device, and one for each shape of devices that grain host aggregates over."""
    ordered = sorted(metrics, key=_scope)
    for (grain, devices), group in groupby(ordered, key=_scope):
        members = list(group)
        names = ", ".join(f"'{derived.metric}'" for derived in members)
        values = ", ".join(f"({derived.expression})::DOUBLE" for derived in members)
        out = f"unnest([{names}]) AS metric_out, unnest([{values}]) AS value FROM inputs"
        if grain == "device":
            yield f"  SELECT pane, host, device, {out}"
        else:
            yield f"  SELECT pane, host, '{WHOLE_HOST}' AS device, {out} WHERE device <> '{WHOLE_HOST}' AND device GLOB '{devices}' GROUP BY pane, host"


def _scope(derived: Derived) -> tuple[str, str]:
    return derived.grain, derived.devices if derived.grain == "host" else "*"


def _inputs_table(wired: Sequence[Wire]) -> pa.Table:
    sources = sorted({source for wire in wired for source in wire.sources}, key=lambda source: source.id)
    return pa.table(
        {
            "channel_id": pa.array([source.id for source in sources], pa.int64()),
            "host": pa.array([encodable(source.host) for source in sources], pa.string()),
            "device": pa.array([encodable(source.device) for source in sources], pa.string()),
            "metric": pa.array([source.metric for source in sources], pa.string()),
        }
    )


def _outputs_table(wired: Sequence[Wire]) -> pa.Table:
    targets = [wire.target for wire in wired]
    return pa.table(
        {
            "metric_out": pa.array([target.metric for target in targets], pa.string()),
            "host": pa.array([encodable(target.host) for target in targets], pa.string()),
            "device": pa.array([encodable(target.device) for target in targets], pa.string()),
            "channel_id": pa.array([target.id for target in targets], pa.int64()),
        }
    )
