"""Which part of what a server holds the jobs may have."""

from __future__ import annotations

from hostsight.clock import floor_second
from hostsight.settings import Settings
from hostsight.timerange import TimeRange


def reach(settings: Settings, first_ns: int, complete_ns: int, now_ns: int) -> TimeRange:
    """Whole seconds up to what is complete, and not before `lateness` is over.

    It begins where samples that are kept here begin: what is older would be deleted at once.
    """
    start_ns = floor_second(max(first_ns, now_ns - settings.retention.samples.ns))
    end_ns = floor_second(min(complete_ns, now_ns - settings.influx.lateness.ns))
    return TimeRange(start_ns, max(start_ns, end_ns))
