"""Packets that each CPU took from the network cards and the drops on the way, from /proc/net/softnet_stat.

Hexadecimal counters of 32 bits. Since Linux 5.10 a line names its CPU; before, lines stand for the online CPUs in order.
net/core/net-procfs.c.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from hostsight.channel import Subsystem
from ingest.collector import Metric, Origin
from ingest.collectors.percpu import Counts, CpuMetric, PerCpuCollector

_CPU = 12
_FIELDS: dict[int, CpuMetric] = {
    0: CpuMetric(
        Metric(
            "softnet_processed_packets_per_s", "packets/s", "rate", "packets taken from the cards", wrap=32
        )
    ),
    1: CpuMetric(
        Metric(
            "softnet_dropped_packets_per_s",
            "drops/s",
            "rate",
            "packets dropped as the CPU's backlog was full",
            wrap=32,
        )
    ),
    2: CpuMetric(
        Metric(
            "softnet_squeezes_per_s",
            "stalls/s",
            "rate",
            "times that the CPU ran out of budget with packets left to take",
            wrap=32,
        )
    ),
    9: CpuMetric(
        Metric(
            "softnet_steered_packets_per_s",
            "packets/s",
            "rate",
            "packets that another CPU handed over by receive packet steering",
            wrap=32,
        ),
        by_cpu=False,
    ),
    10: CpuMetric(
        Metric(
            "softnet_flow_limited_packets_per_s",
            "drops/s",
            "rate",
            "packets of large flows dropped to keep the backlog short",
            wrap=32,
        ),
        by_cpu=False,
    ),
    11: CpuMetric(
        Metric("softnet_backlog_packets", "packets", "gauge", "packets that wait in the CPUs' backlogs"),
        by_cpu=False,
    ),
}

_AT = [*_FIELDS]


class SoftnetCollector(PerCpuCollector):
    name: ClassVar[str] = "softnet"
    origin: ClassVar[Origin] = Origin("/proc/net/softnet_stat", 0.001)
    metrics: ClassVar[tuple[Metric, ...]] = tuple(column.metric for column in _FIELDS.values())
    subsystem: ClassVar[Subsystem] = "network"
    path: ClassVar[str] = "/proc/net/softnet_stat"
    columns: ClassVar[tuple[CpuMetric, ...]] = tuple(_FIELDS.values())

    def parse(self, content: bytes) -> Counts:
        whole = _whole(content)
        if whole is not None:
            return whole
        rows = [line.split() for line in content.splitlines()]
        cpus = tuple(_cpu(words, row) for row, words in enumerate(rows))
        values = np.array([[_hexadecimal(words, at) for words in rows] for at in _FIELDS])
        return Counts(cpus, values.reshape(len(_FIELDS), len(rows)))


def _whole(content: bytes) -> Counts | None:
    """Where each word has the eight digits that the kernel writes, and each line names its CPU."""
    words, lines = content.count(b" ") + content.count(b"\n"), content.count(b"\n")
    if not lines or len(content) != 9 * words or words <= _CPU * lines or words % lines:
        return None
    try:
        numbers = np.frombuffer(bytes.fromhex(content.decode("ascii")), ">u4")
    except ValueError:
        return None
    if len(numbers) != words:
        return None
    table = numbers.reshape(lines, -1)
    return Counts(tuple(table[:, _CPU].tolist()), table[:, _AT].T.astype(np.float64))


def _cpu(words: list[bytes], row: int) -> int:
    number = _hexadecimal(words, _CPU)
    return row if math.isnan(number) else int(number)


def _hexadecimal(words: list[bytes], at: int) -> float:
    """The 32-bit number in column `at`; NaN where there is none."""
    if at >= len(words) or len(words[at]) > 8:
        return math.nan
    try:
        return float(int(words[at], 16))
    except ValueError:
        return math.nan
