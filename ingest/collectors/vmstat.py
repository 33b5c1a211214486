"""What the memory manager does: faults, reclaim, compaction, swap, writeback, migration, huge pages; from /proc/vmstat.

Counters that name no zone are those of Linux 4.8 and later; earlier kernels give them by zone, and lack them here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ingest.collector import Host, Metric, Origin, Tier
from ingest.collectors.pages import PAGE_BYTES, in_pages_of
from ingest.collectors.tables import Field, Source, TableCollector
from ingest.collectors.wordtable import FLAT


def _pages(key: bytes, name: str, meaning: str) -> Field:
    return Field(key, "memory", Metric(f"{name}_pages_per_s", "pages/s", "rate", meaning))


def _events(key: bytes, name: str, meaning: str) -> Field:
    return Field(key, "memory", Metric(f"{name}_per_s", "events/s", "rate", meaning))


def _stalls(key: bytes, name: str, meaning: str) -> Field:
    return Field(key, "memory", Metric(f"{name}_per_s", "stalls/s", "rate", meaning))


def _errors(key: bytes, name: str, meaning: str) -> Field:
    return Field(key, "memory", Metric(f"{name}_per_s", "errors/s", "rate", meaning))


def _moved(key: bytes, name: str, meaning: str) -> Field:
    return Field(key, "memory", Metric(f"{name}_bytes_per_s", "B/s", "rate", meaning, scale=PAGE_BYTES))


def _block(key: bytes, name: str, meaning: str) -> Field:
    """Traffic of block devices, which /proc/vmstat counts in KiB: a matter of storage, not of memory."""
    return Field(key, "storage", Metric(f"{name}_bytes_per_s", "B/s", "rate", meaning, scale=1024.0))


def _held(key: bytes, name: str, meaning: str) -> Field:
    return Field(key, "memory", Metric(f"{name}_bytes", "B", "gauge", meaning, scale=PAGE_BYTES))


_PAGING = (
    _block(b"pgpgin", "paged_in", "bytes read from block devices"),
    _block(b"pgpgout", "paged_out", "bytes written to block devices"),
    _moved(b"pswpin", "swapped_in", "bytes read from swap"),
    _moved(b"pswpout", "swapped_out", "bytes written to swap"),
    _events(b"pgfault", "page_faults", "page faults, minor and major"),
    _stalls(b"pgmajfault", "major_page_faults", "page faults that had to wait for storage"),
    _pages(b"pgfree", "freed", "pages given back to the allocator"),
    _pages(b"pgactivate", "activated", "pages moved to the active list"),
    _pages(b"pgdeactivate", "deactivated", "pages moved to the inactive list"),
    _pages(b"swap_ra", "swap_readahead", "pages read ahead from swap"),
    _pages(b"zswpin", "zswapped_in", "pages taken out of compressed swap"),
    _pages(b"zswpout", "zswapped_out", "pages put into compressed swap"),
)
_WRITEBACK = (
    _pages(b"nr_dirtied", "dirtied", "pages of the page cache that became dirty"),
    Field(
        b"nr_written",
        "storage",
        Metric("written_pages_per_s", "pages/s", "rate", "pages of the page cache that were written"),
    ),
    _pages(b"nr_throttled_written", "throttled_written", "pages written while reclaim waited for writeback"),
    _pages(b"nr_vmscan_write", "reclaim_written", "pages that reclaim itself had to write"),
    _held(b"nr_dirty_threshold", "dirty_limit", "dirty memory at which writers are held back"),
    _held(b"nr_dirty_background_threshold", "dirty_background_limit", "dirty memory at which writing starts"),
)
_RECLAIM = (
    _pages(b"pgscan_kswapd", "background_scanned", "pages that kswapd looked at"),
    _pages(b"pgscan_direct", "direct_scanned", "pages that allocating tasks looked at to free some"),
    _pages(b"pgsteal_kswapd", "background_reclaimed", "pages that kswapd freed"),
    _pages(b"pgsteal_direct", "direct_reclaimed", "pages that allocating tasks freed before they went on"),
    _pages(b"pgrefill", "refilled", "pages looked at on the active list"),
    _stalls(b"pgscan_direct_throttle", "reclaim_throttles", "times that direct reclaim was put to sleep"),
    _stalls(b"allocstall", "allocation_stalls", "allocations that had to reclaim (before Linux 4.10)"),
    _stalls(b"allocstall_dma32", "allocation_stalls_dma32", "allocations in zone DMA32 that had to reclaim"),
    _stalls(
        b"allocstall_normal", "allocation_stalls_normal", "allocations in zone Normal that had to reclaim"
    ),
    _stalls(b"allocstall_movable", "allocation_stalls_movable", "movable allocations that had to reclaim"),
    _events(b"slabs_scanned", "slab_objects_scanned", "kernel objects that reclaim looked at"),
    _events(b"pageoutrun", "kswapd_runs", "times that kswapd ran"),
    _events(b"kswapd_low_wmark_hit_quickly", "kswapd_low_watermark_hits", "times kswapd slept too soon"),
    _events(b"zone_reclaim_failed", "zone_reclaim_failures", "local reclaims that freed too little"),
    _events(b"drop_pagecache", "page_cache_drops", "times someone dropped the page cache"),
    _errors(b"oom_kill", "out_of_memory_kills", "processes killed for want of memory"),
    _pages(
        b"workingset_refault_anon", "refaulted_anonymous", "pages needed soon after they were swapped out"
    ),
    _pages(
        b"workingset_refault_file", "refaulted_file", "pages of files needed soon after reclaim took them"
    ),
    _pages(
        b"workingset_refault", "refaulted", "pages needed soon after reclaim took them (before Linux 5.9)"
    ),
)
_COMPACTION = (
    _stalls(b"compact_stall", "compaction_stalls", "allocations that had to compact memory"),
    _events(b"compact_fail", "compaction_failures", "compactions that gave no huge block"),
    _events(b"compact_success", "compaction_successes", "compactions that gave a huge block"),
    _events(b"compact_daemon_wake", "compaction_wakes", "times that kcompactd was woken"),
    _pages(b"compact_migrate_scanned", "compaction_migrate_scanned", "pages looked at to be moved"),
    _pages(b"compact_free_scanned", "compaction_free_scanned", "pages looked at as free targets"),
    _pages(b"pgmigrate_success", "migrated", "pages moved, for compaction or between nodes"),
    _pages(b"pgmigrate_fail", "migration_failed", "pages that could not be moved"),
)
_BALANCING = (
    _events(b"numa_pte_updates", "numa_balancing_updates", "page table entries marked by NUMA balancing"),
    _events(b"numa_hint_faults", "numa_hint_faults", "faults taken to learn which node uses a page"),
    _events(b"numa_hint_faults_local", "numa_hint_faults_local", "such faults on the page's own node"),
    _pages(b"numa_pages_migrated", "numa_migrated", "pages that NUMA balancing moved"),
    _pages(b"pgpromote_success", "promoted", "pages moved up to a faster memory tier"),
    _pages(b"pgdemote_kswapd", "background_demoted", "pages that kswapd moved to a slower memory tier"),
    _pages(b"pgdemote_direct", "direct_demoted", "pages that allocating tasks moved to a slower tier"),
)
_HUGE = (
    _events(b"thp_fault_alloc", "huge_fault_allocations", "faults served with a transparent huge page"),
    _events(
        b"thp_fault_fallback", "huge_fault_fallbacks", "faults that found no huge page and took small ones"
    ),
    _events(b"thp_collapse_alloc", "huge_collapses", "ranges that khugepaged made huge"),
    _events(b"thp_collapse_alloc_failed", "huge_collapse_failures", "ranges that found no huge page"),
    _events(b"thp_file_alloc", "huge_file_allocations", "huge pages given to files"),
    _events(b"thp_split_page", "huge_splits", "huge pages split into small ones"),
    _events(b"thp_split_pmd", "huge_mapping_splits", "mappings of huge pages split into small ones"),
    _events(b"thp_deferred_split_page", "huge_deferred_splits", "huge pages put on the list to be split"),
    _events(b"thp_swpout", "huge_swapouts", "huge pages swapped out whole"),
    _events(b"thp_swpout_fallback", "huge_swapout_fallbacks", "huge pages split to be swapped out"),
    _events(b"htlb_buddy_alloc_success", "hugetlb_allocations", "reserved huge pages added to their pools"),
    _errors(
        b"htlb_buddy_alloc_fail", "hugetlb_allocation_failures", "reserved huge pages that could not be had"
    ),
    _events(b"direct_map_level2_splits", "direct_map_2m_splits", "2 MiB pages of the kernel's mapping split"),
    _events(b"direct_map_level3_splits", "direct_map_1g_splits", "1 GiB pages of the kernel's mapping split"),
)
_FIELDS: tuple[Field, ...] = (*_PAGING, *_WRITEBACK, *_RECLAIM, *_COMPACTION, *_BALANCING, *_HUGE)


class VmstatCollector(TableCollector):
    name: ClassVar[str] = "vmstat"
    origin: ClassVar[Origin] = Origin("/proc/vmstat", 0.001)
    tier: ClassVar[Tier] = Tier.FAST
    metrics: ClassVar[tuple[Metric, ...]] = tuple(field.metric for field in _FIELDS)

    def sources(self, host: Host) -> Sequence[Source]:
        return [Source("/proc/vmstat", FLAT, in_pages_of(host, _FIELDS))]
