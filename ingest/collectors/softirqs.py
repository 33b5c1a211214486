"""Deferred interrupt work by type and CPU, from /proc/softirqs. Counters of 32 bits."""

from __future__ import annotations

import re
from typing import ClassVar

import numpy as np

from hostsight.channel import Subsystem
from ingest.collector import Metric, Origin, Values
from ingest.collectors.percpu import Counts, CpuMetric, PerCpuCollector
from ingest.collectors.words import numbers


def _softirqs(name: str, meaning: str, *, by_cpu: bool = False) -> CpuMetric:
    metric = Metric(f"{name}_softirqs_per_s", "interrupts/s", "rate", meaning, wrap=32)
    return CpuMetric(metric, by_cpu=by_cpu)


_TYPES: dict[bytes, CpuMetric] = {
    b"HI": _softirqs("high_priority", "high-priority tasklets"),
    b"TIMER": _softirqs("timer", "expired timers"),
    b"NET_TX": _softirqs("net_tx", "packets to be sent", by_cpu=True),
    b"NET_RX": _softirqs("net_rx", "packets to be received", by_cpu=True),
    b"BLOCK": _softirqs("block", "finished block requests", by_cpu=True),
    b"IRQ_POLL": _softirqs("irq_poll", "polled block devices"),
    b"TASKLET": _softirqs("tasklet", "tasklets"),
    b"SCHED": _softirqs("sched", "load balancing between CPUs"),
    b"HRTIMER": _softirqs("hrtimer", "expired high-resolution timers"),
    b"RCU": _softirqs("rcu", "memory to be freed once no CPU reads it"),
}
_LABELS = [label + b":" for label in _TYPES]
_TOTAL = CpuMetric(
    Metric("softirqs_per_s", "interrupts/s", "rate", "deferred interrupt work of all types", wrap=32),
    on_host=False,
)
_CPU = re.compile(rb"CPU(\d{1,6})")


class SoftirqsCollector(PerCpuCollector):
    """The host's total of all types is the `cpu` collector's: /proc/stat has it."""

    name: ClassVar[str] = "softirqs"
    origin: ClassVar[Origin] = Origin("/proc/softirqs", 0.001)
    metrics: ClassVar[tuple[Metric, ...]] = tuple(column.metric for column in (*_TYPES.values(), _TOTAL))
    subsystem: ClassVar[Subsystem] = "cpu"
    path: ClassVar[str] = "/proc/softirqs"
    columns: ClassVar[tuple[CpuMetric, ...]] = (*_TYPES.values(), _TOTAL)

    def __init__(self) -> None:
        super().__init__()
        self._header = b""
        self._cpus_of_header: tuple[int, ...] = ()

    def parse(self, content: bytes) -> Counts:
        header, _, body = content.partition(b"\n")
        if header != self._header:
            self._header = header
            self._cpus_of_header = tuple(int(found) for found in _CPU.findall(header))
        cpus = self._cpus_of_header
        whole = _whole(body.split(), len(cpus))
        return Counts(cpus, whole if whole is not None else _by_row(body, len(cpus)))


def _whole(words: list[bytes], width: int) -> Values | None:
    """_TYPES and the total, float64[types + 1, width], where each of them has its row and all of these are whole."""
    if words[:: width + 1] != _LABELS or len(words) != len(_LABELS) * (width + 1) or not width:
        return None
    del words[:: width + 1]
    values = np.empty((len(_LABELS) + 1, width))
    values[:-1] = numbers(words).reshape(-1, width)
    np.add.reduce(values[:-1], axis=0, out=values[-1])
    return values


def _by_row(body: bytes, width: int) -> Values:
    """The same of any text; NaN where it does not say."""
    split = (line.partition(b":") for line in body.splitlines())
    rows = {label.strip(): _row(rest, width) for label, _, rest in split}
    missing = np.full(width, np.nan)
    values = [rows.get(label, missing) for label in _TYPES]
    total = np.sum(list(rows.values()) or [missing], axis=0)
    return np.stack([*values, total])


def _row(text: bytes, width: int) -> Values:
    words = text.split()
    return numbers(words) if len(words) == width else np.full(width, np.nan)
