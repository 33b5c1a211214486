"""How the host's memory is used, from /proc/meminfo. Documentation/filesystems/proc.rst."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ingest.collector import Host, Metric, Origin, Tier
from ingest.collectors.tables import FOLDED, Field, Source, TableCollector
from ingest.collectors.wordtable import FLAT

KIB = 1024.0


def _bytes(key: bytes, name: str, meaning: str) -> Field:
    return Field(key, "memory", Metric(f"{name}_bytes", "B", "gauge", meaning, scale=KIB))


_FIELDS: tuple[Field, ...] = (
    _bytes(b"MemTotal", "total", "memory that the kernel manages"),
    _bytes(b"MemFree", "free", "memory that nothing uses"),
    _bytes(b"MemAvailable", "available", "memory that new work can have without swapping"),
    _bytes(b"Buffers", "buffers", "cache of raw block devices"),
    _bytes(b"Cached", "cached", "page cache, shared memory included"),
    _bytes(b"SwapCached", "swap_cached", "memory that is also in swap"),
    _bytes(b"Active(anon)", "active_anonymous", "anonymous memory used lately"),
    _bytes(b"Inactive(anon)", "inactive_anonymous", "anonymous memory that is a candidate for swap"),
    _bytes(b"Active(file)", "active_file", "page cache used lately"),
    _bytes(b"Inactive(file)", "inactive_file", "page cache that is a candidate for reclaim"),
    _bytes(b"Unevictable", "unevictable", "memory that cannot be reclaimed"),
    _bytes(b"Mlocked", "locked", "memory locked by mlock; pinned buffers of GPUs and RDMA often are"),
    _bytes(b"SwapTotal", "swap_total", "swap space"),
    _bytes(b"SwapFree", "swap_free", "swap space that nothing uses"),
    _bytes(b"Zswap", "zswap", "memory that compressed swap takes"),
    _bytes(b"Zswapped", "zswapped", "memory held in compressed swap, before compression"),
    _bytes(b"Dirty", "dirty", "page cache waiting to be written"),
    _bytes(b"Writeback", "writeback", "page cache being written"),
    _bytes(b"AnonPages", "anonymous", "memory mapped by processes that no file backs"),
    _bytes(b"Mapped", "mapped", "page cache mapped by processes"),
    _bytes(b"Shmem", "shared", "shared memory and tmpfs, /dev/shm included"),
    _bytes(b"KReclaimable", "kernel_reclaimable", "kernel memory that pressure can free"),
    _bytes(b"SReclaimable", "slab_reclaimable", "kernel objects that pressure can free"),
    _bytes(b"SUnreclaim", "slab_unreclaimable", "kernel objects that stay"),
    _bytes(b"KernelStack", "kernel_stack", "stacks of all threads in the kernel"),
    _bytes(b"PageTables", "page_tables", "page tables of processes"),
    _bytes(b"SecPageTables", "secondary_page_tables", "page tables of virtual machines and the IOMMU"),
    _bytes(b"CommitLimit", "commit_limit", "memory that may be promised under strict overcommit"),
    _bytes(b"Committed_AS", "committed", "memory promised to processes"),
    _bytes(b"VmallocUsed", "vmalloc_used", "kernel memory mapped page by page"),
    _bytes(b"Percpu", "per_cpu", "memory that the kernel keeps once per CPU"),
    _bytes(b"HardwareCorrupted", "hardware_corrupted", "memory taken out of use after uncorrectable errors"),
    _bytes(b"AnonHugePages", "anonymous_huge", "anonymous memory in transparent huge pages"),
    _bytes(b"ShmemHugePages", "shared_huge", "shared memory in transparent huge pages"),
    _bytes(b"FileHugePages", "file_huge", "page cache in transparent huge pages"),
    _bytes(b"CmaFree", "contiguous_free", "free memory of the contiguous allocator"),
    _bytes(b"Balloon", "balloon", "memory handed back to the hypervisor"),
    _bytes(b"Hugetlb", "hugetlb", "memory in reserved huge page pools of all sizes"),
    _bytes(b"DirectMap4k", "direct_map_4k", "kernel mapping in 4 KiB pages; more of it costs TLB misses"),
    _bytes(b"DirectMap2M", "direct_map_2m", "kernel mapping in 2 MiB pages"),
    _bytes(b"DirectMap1G", "direct_map_1g", "kernel mapping in 1 GiB pages"),
)


class MemoryCollector(TableCollector):
    name: ClassVar[str] = "memory"
    origin: ClassVar[Origin] = Origin("/proc/meminfo", 1.0)
    tier: ClassVar[Tier] = Tier.FAST
    metrics: ClassVar[tuple[Metric, ...]] = tuple(field.metric for field in _FIELDS)

    def sources(self, host: Host) -> Sequence[Source]:
        return [Source("/proc/meminfo", FLAT, _FIELDS, period_seconds=FOLDED)]
