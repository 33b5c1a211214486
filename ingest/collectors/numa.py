"""Memory of each NUMA node, and allocations that landed on another node than wanted.

A page allocated on a node counts there: as a hit where that node was wanted, as a miss where another one was (whose
`foreign` counts it too); `other_node` counts pages whose task ran elsewhere. Documentation/admin-guide/numastat.rst.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from hostsight.channel import Subsystem
from hostsight.errors import NoDataError
from ingest.collector import Host, Metric, Origin, Slot, Tier
from ingest.collectors.tables import FOLDED, Field, Source, TableCollector
from ingest.collectors.topology import nodes
from ingest.collectors.wordtable import FLAT, OF_NODE
from ingest.equipment import offline_nodes, ranges, spans

_FOLDER = "/sys/devices/system/node"
_KIB = 1024.0


def _bytes(key: bytes, name: str, meaning: str) -> Field:
    return Field(key, "memory", Metric(f"{name}_bytes", "B", "gauge", meaning, scale=_KIB))


def _pages(key: bytes, subsystem: Subsystem, name: str, meaning: str) -> Field:
    return Field(key, subsystem, Metric(f"{name}_pages_per_s", "pages/s", "rate", meaning))


_MEMINFO = (
    _bytes(b"MemTotal", "total", "memory of the node"),
    _bytes(b"MemFree", "free", "memory of the node that nothing uses"),
    _bytes(b"MemUsed", "used", "memory of the node in use, caches included"),
    _bytes(b"FilePages", "cached", "page cache on the node"),
    _bytes(b"AnonPages", "anonymous", "anonymous memory on the node"),
    _bytes(b"Shmem", "shared", "shared memory and tmpfs on the node"),
    _bytes(b"Mapped", "mapped", "page cache on the node that processes map"),
    _bytes(b"Dirty", "dirty", "page cache on the node waiting to be written"),
    _bytes(b"Writeback", "writeback", "page cache on the node being written"),
    _bytes(b"Unevictable", "unevictable", "memory on the node that cannot be reclaimed"),
    _bytes(b"SReclaimable", "slab_reclaimable", "kernel objects on the node that pressure can free"),
    _bytes(b"SUnreclaim", "slab_unreclaimable", "kernel objects on the node that stay"),
    _bytes(b"PageTables", "page_tables", "page tables on the node"),
    _bytes(b"AnonHugePages", "anonymous_huge", "anonymous memory on the node in transparent huge pages"),
)
_NUMASTAT = (
    _pages(b"numa_hit", "memory", "numa_hit", "pages allocated here as wanted"),
    _pages(
        b"numa_miss", "interconnect", "numa_miss", "pages allocated here although another node was wanted"
    ),
    _pages(
        b"numa_foreign", "interconnect", "numa_foreign", "pages wanted here but allocated on another node"
    ),
    _pages(b"interleave_hit", "memory", "numa_interleave_hit", "interleaved pages allocated here as wanted"),
    _pages(b"local_node", "memory", "numa_local", "pages allocated here by tasks that ran here"),
    _pages(b"other_node", "interconnect", "numa_other_node", "pages allocated here by tasks of other nodes"),
)


class NumaCollector(TableCollector):
    name: ClassVar[str] = "numa"
    origin: ClassVar[Origin] = Origin(
        "/sys/devices/system/node/node*/meminfo and numastat", 1.0, "several NUMA nodes to be of interest"
    )
    tier: ClassVar[Tier] = Tier.MEDIUM
    background: ClassVar[bool] = True
    metrics: ClassVar[tuple[Metric, ...]] = tuple(field.metric for field in (*_MEMINFO, *_NUMASTAT))

    def open(self, host: Host) -> Sequence[Slot]:
        if not nodes(host):
            raise NoDataError(f"{_FOLDER} shows no NUMA node", "not supported")
        slots = super().open(host)
        gone = ranges(spans(offline_nodes(host)))
        if gone:
            self._absent.append((f"NUMA node {gone}", "offline", ""))
        return slots

    def sources(self, host: Host) -> Sequence[Source]:
        found = []
        for node in nodes(host):
            folder, device = f"{_FOLDER}/node{node}", f"node{node}"
            found.append(Source(f"{folder}/meminfo", OF_NODE, _MEMINFO, device, FOLDED))
            found.append(Source(f"{folder}/numastat", FLAT, _NUMASTAT, device))
        return found
