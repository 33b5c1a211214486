"""Pools of reserved huge pages of each size, for the host and for each NUMA node.

One small file a number, in /sys/kernel/mm/hugepages and /sys/devices/system/node: on a host of many nodes too many to
be kept open. Documentation/admin-guide/mm/hugetlbpage.rst.
The device is `hugepages-2048kB`, or `node0-hugepages-2048kB`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from hostsight.errors import NoDataError
from ingest.collector import Host, Metric, Origin, Slot, Tier, Values
from ingest.collectors.smallfiles import is_there, names_in, read_small
from ingest.collectors.tables import LIVE
from ingest.collectors.topology import nodes
from ingest.collectors.words import number

_SIZE = re.compile(r"hugepages-\d+kB")
_FILES: dict[str, Metric] = {
    "nr_hugepages": Metric("huge_pages", "pages", "gauge", "pages in the pool"),
    "free_hugepages": Metric("free_huge_pages", "pages", "gauge", "pages in the pool that nothing uses"),
    "resv_hugepages": Metric(
        "reserved_huge_pages", "pages", "gauge", "free pages that are promised to a process"
    ),
    "surplus_hugepages": Metric("surplus_huge_pages", "pages", "gauge", "pages beyond the pool's set size"),
}


class HugepagesCollector:
    name: ClassVar[str] = "hugepages"
    origin: ClassVar[Origin] = Origin(
        "/sys/kernel/mm/hugepages, /sys/devices/system/node/node*/hugepages",
        0.001,
        "a kernel with CONFIG_HUGETLBFS",
    )
    tier: ClassVar[Tier] = Tier.SLOW
    metrics: ClassVar[tuple[Metric, ...]] = tuple(_FILES.values())

    def __init__(self) -> None:
        self._files: list[Path] = []

    def open(self, host: Host) -> Sequence[Slot]:
        slots = list(_slots(host))
        if not slots:
            raise NoDataError(
                "/sys/kernel/mm/hugepages shows no size",
                "not supported",
                "boot a kernel with CONFIG_HUGETLBFS",
            )
        self._files = [host.path(slot.source) for slot in slots]
        return slots

    def read(self, out: Values) -> bool:
        out[:] = [_count(file) for file in self._files]
        return True

    def absent(self) -> Sequence[tuple[str, str, str]]:
        return ()

    def close(self) -> None: ...


def _slots(host: Host) -> Iterator[Slot]:
    folders = [("", "/sys/kernel/mm/hugepages")]
    folders += [(f"node{node}-", f"/sys/devices/system/node/node{node}/hugepages") for node in nodes(host)]
    for prefix, folder in folders:
        for size in _sizes(host, folder):
            for name, metric in _FILES.items():
                path = f"{folder}/{size}/{name}"
                if is_there(host.path(path)):
                    yield Slot("memory", prefix + size, metric, LIVE, path)


def _sizes(host: Host, folder: str) -> list[str]:
    return sorted(filter(_SIZE.fullmatch, names_in(host.path(folder))), key=lambda name: int(name[10:-2]))


def _count(file: Path) -> float:
    try:
        return number(read_small(file))
    except OSError:
        return np.nan
