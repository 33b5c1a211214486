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

    def parse(self, content: bytes) -> Counts:
        header, _, body = content.partition(b"\n")
        cpus = tuple(int(found) for found in _CPU.findall(header))
        rows = _rows(body, len(cpus))
        missing = np.full(len(cpus), np.nan)
        values = [rows.get(label, missing) for label in _TYPES]
        total = np.sum(list(rows.values()) or [missing], axis=0)
        return Counts(cpus, np.stack([*values, total]))


def _rows(body: bytes, width: int) -> dict[bytes, Values]:
    """Label -> float64[width]; in one go where every row is whole, which spares half of the time."""
    words = body.split()
    labels = words[:: width + 1]
    if width and len(labels) * (width + 1) == len(words) and all(label.endswith(b":") for label in labels):
        del words[:: width + 1]
        return dict(zip((label[:-1] for label in labels), numbers(words).reshape(-1, width), strict=True))
    split = (line.partition(b":") for line in body.splitlines())
    return {label.strip(): _row(rest, width) for label, _, rest in split}


def _row(text: bytes, width: int) -> Values:
    words = text.split()
    return numbers(words) if len(words) == width else np.full(width, np.nan)
