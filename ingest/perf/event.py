"""What perf_event_open is asked to count, and the names that the kernel itself gives to events.

include/uapi/linux/perf_event.h; perf_event_open(2).
"""

from __future__ import annotations

from dataclasses import dataclass

_HARDWARE, _SOFTWARE, _HW_CACHE = 0, 1, 3


@dataclass(frozen=True, slots=True)
class Event:
    """`type` is a PMU's number; the three words say which of its events."""

    type: int
    config: int
    config1: int = 0
    config2: int = 0


def _cache(cache: int, operation: int, result: int) -> Event:
    return Event(_HW_CACHE, cache | operation << 8 | result << 16)


GENERIC = {
    "cpu-cycles": Event(_HARDWARE, 0),
    "instructions": Event(_HARDWARE, 1),
    "cache-references": Event(_HARDWARE, 2),
    "cache-misses": Event(_HARDWARE, 3),
    "branch-instructions": Event(_HARDWARE, 4),
    "branch-misses": Event(_HARDWARE, 5),
    "stalled-cycles-frontend": Event(_HARDWARE, 7),
    "stalled-cycles-backend": Event(_HARDWARE, 8),
    "dTLB-load-misses": _cache(3, 0, 1),
    "page-faults": Event(_SOFTWARE, 2),
    "context-switches": Event(_SOFTWARE, 3),
    "cpu-migrations": Event(_SOFTWARE, 4),
    "alignment-faults": Event(_SOFTWARE, 7),
    "emulation-faults": Event(_SOFTWARE, 8),
}
"""By the names that `perf list` uses. Of hardware the kernel translates them into what the processor has, if it has it."""
