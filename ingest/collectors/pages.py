"""How large a page is, in which the kernel counts some memory: 4 KiB, or up to 64 KiB on Arm and POWER."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable
from dataclasses import replace

from ingest.collector import Host
from ingest.collectors.smallfiles import read_small
from ingest.collectors.tables import Field

PAGE_BYTES = float(os.sysconf("SC_PAGE_SIZE"))
"""Of this machine."""

_TABLES_KIB = re.compile(rb"^PageTables:\s+(\d{1,18}) kB$", re.MULTILINE)
_TABLES_PAGES = re.compile(rb"^nr_page_table_pages (\d{1,18})$", re.MULTILINE)
_SHIFTS = range(12, 19)


def page_bytes(host: Host) -> float:
    """Of a captured tree as it tells by giving one number in both KiB and pages, the memory of page tables; else of this machine."""
    if host.live:
        return PAGE_BYTES
    try:
        kib = _number(_TABLES_KIB, host, "/proc/meminfo")
        pages = _number(_TABLES_PAGES, host, "/proc/vmstat")
        shift = round(math.log2(1024 * kib / pages))
    except (OSError, ValueError, ZeroDivisionError):
        return PAGE_BYTES
    return 2.0**shift if shift in _SHIFTS else PAGE_BYTES


def in_pages_of(host: Host, fields: Iterable[Field]) -> tuple[Field, ...]:
    """`fields` with those that scale by PAGE_BYTES scaled by the page of `host` instead."""
    scale = page_bytes(host)
    return tuple(
        replace(field, metric=replace(field.metric, scale=scale))
        if field.metric.scale == PAGE_BYTES
        else field
        for field in fields
    )


def _number(pattern: re.Pattern[bytes], host: Host, path: str) -> int:
    """Raises OSError, and ValueError where the file does not say."""
    found = pattern.search(read_small(host.path(path)))
    if found is None:
        raise ValueError(path)
    return int(found[1])
