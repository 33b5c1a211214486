"""Which NUMA nodes there are and which CPUs belong to them, from /sys/devices/system/node."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ingest.collector import Host

_NODES = "/sys/devices/system/node"
_NODE = re.compile(r"node(\d+)")


def parse_list(text: str) -> Iterator[int]:
    """The numbers of a kernel list such as `0-3,8,10-11`; what is no number is passed over."""
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first.isdigit() and (last or first).isdigit():
            yield from range(int(first), int(last or first) + 1)


def nodes(host: Host) -> list[int]:
    """Numbers of the host's NUMA nodes, ascending and perhaps with gaps; empty where the tree shows none."""
    folder = host.path(_NODES)
    try:
        names = [entry.name for entry in folder.iterdir()]
    except OSError:
        return []
    return sorted(int(found[1]) for found in map(_NODE.fullmatch, names) if found)


def cpu_nodes(host: Host) -> dict[int, int]:
    """CPU number -> NUMA node number; empty where the tree does not say."""
    found = {}
    for node in nodes(host):
        try:
            text = host.path(_NODES, f"node{node}", "cpulist").read_text("ascii", "replace")
        except OSError:
            continue
        found.update(dict.fromkeys(parse_list(text), node))
    return found
