"""Which NUMA nodes there are, which CPUs belong to them, and how counts of CPUs are shown on a host of this size."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ingest.collector import Host, Values
from ingest.collectors.smallfiles import read_word

ONLINE = "/sys/devices/system/cpu/online"
_NODES = "/sys/devices/system/node"
_NODE = re.compile(r"node(\d+)")
_MASK = re.compile(r"[0-9a-fA-F]+(?:,[0-9a-fA-F]{8})*")
_LARGEST = 2**14
"""No kernel has more CPUs or nodes, and no list may name more."""
_LONGEST = 32


def parse_list(text: str) -> Iterator[int]:
    """The numbers of a kernel list such as `0-3,8,10-11`; what is no number is passed over."""
    room = _LARGEST
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal() and len(part) < _LONGEST:
            numbers = range(int(first), min(int(last or first) + 1, _LARGEST))[:room]
            room -= len(numbers)
            yield from numbers


def parse_mask(text: str) -> Iterator[int]:
    """The numbers of the bits that are set in a kernel mask such as `00000001,8000000f`; none where it is no mask."""
    if _MASK.fullmatch(text):
        bits = bin(int(text.replace(",", ""), 16))[:1:-1]
        yield from (at for at, bit in enumerate(bits) if bit == "1")


def nodes(host: Host) -> list[int]:
    """Numbers of the host's NUMA nodes, ascending and perhaps with gaps; empty where the tree shows none."""
    folder = host.path(_NODES)
    try:
        names = [entry.name for entry in folder.iterdir()]
    except OSError:
        return []
    return sorted(int(found[1]) for found in map(_NODE.fullmatch, names) if found)


def cpu_nodes(host: Host) -> dict[int, int]:
    """CPU number -> NUMA node number; empty where the tree does not say. Old kernels have masks alone."""
    found = {}
    for node in nodes(host):
        folder = host.path(_NODES, f"node{node}")
        cpus = [*parse_list(read_word(folder / "cpulist"))] or parse_mask(read_word(folder / "cpumap"))
        found.update(dict.fromkeys(cpus, node))
    return found


@dataclass(frozen=True, slots=True)
class Spread:
    """How counts of single CPUs are shown: by CPU where there are few, by NUMA node where there are two or more.

    `order` holds the columns of the CPUs of all devices, one device after another, and `starts` where each one's begin.
    """

    devices: tuple[str, ...]
    order: NDArray[np.intp]
    starts: NDArray[np.intp]
    single: bool = False
    """Whether the devices are the CPUs themselves, in the order of the columns."""

    def fold(self, counts: Values) -> Values:
        """Sums of float64[..., cpus] over the CPUs of each device: float64[..., devices]."""
        if self.single:
            return counts
        if not self.devices:
            return np.empty((*counts.shape[:-1], 0))
        return np.asarray(np.add.reduceat(counts[..., self.order], self.starts, axis=-1))


def spread(host: Host, cpus: Sequence[int]) -> Spread:
    """The devices that counts of `cpus`, in this order, are shown on."""
    groups: dict[str, list[int]] = {}
    if len(cpus) <= host.per_cpu_limit:
        groups = {f"cpu{cpu}": [column] for column, cpu in enumerate(cpus)}
    of_node = cpu_nodes(host)
    if len(set(of_node.values())) > 1:
        for column, cpu in enumerate(cpus):
            if cpu in of_node:
                groups.setdefault(f"node{of_node[cpu]}", []).append(column)
    columns = [column for group in groups.values() for column in group]
    starts = np.cumsum([0, *map(len, groups.values())])[:-1]
    single = len(groups) == len(cpus) and columns == [*range(len(cpus))]
    return Spread(tuple(groups), np.array(columns, np.intp), starts, single)
