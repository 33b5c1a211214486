"""Requests, throughput, time and queue of block devices, from /proc/diskstats; Documentation/admin-guide/iostats.rst.

Whole devices only: partitions are left out, as are devices that have done nothing (most `loop`, `ram` and `zram`).
Physical devices come first, then device mapper and RAID, the busiest first.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

from hostsight.channel import Subsystem
from ingest.collector import Host, Metric, Origin
from ingest.collectors.devices import Choice, DeviceCollector, busy, device_name
from ingest.collectors.smallfiles import is_link, is_there
from ingest.collectors.words import Words

_SECTOR_BYTES = 512.0
"""The kernel counts in sectors of 512 bytes, whatever the device's own are."""
_FEWEST_COLUMNS = 11
_PARTITION = re.compile(r"(.*\d)p\d+|(.*\D)\d+")


def _requests(name: str, meaning: str) -> Metric:
    return Metric(f"{name}_per_s", "requests/s", "rate", meaning)


def _bytes(name: str, meaning: str) -> Metric:
    return Metric(f"{name}_bytes_per_s", "B/s", "rate", meaning, scale=_SECTOR_BYTES)


def _time(name: str, meaning: str) -> Metric:
    return Metric(f"{name}_time_seconds_per_s", "s/s", "rate", meaning, scale=1e-3, wrap=32)


_COLUMNS: tuple[Metric, ...] = (
    _requests("reads", "reads that finished"),
    _requests("read_merges", "reads joined with a neighbour before they were queued"),
    _bytes("read", "bytes read"),
    _time("read", "time that reads took, queueing included, added up"),
    _requests("writes", "writes that finished"),
    _requests("write_merges", "writes joined with a neighbour before they were queued"),
    _bytes("write", "bytes written"),
    _time("write", "time that writes took, queueing included, added up"),
    Metric("in_flight_requests", "requests", "gauge", "requests that the device works on now"),
    Metric("busy_percent", "%", "rate", "time in which the device had work", scale=0.1, wrap=32),
    Metric(
        "queue_depth_requests",
        "requests",
        "rate",
        "requests under way, on average: seconds waited per second",
        scale=1e-3,
        wrap=32,
    ),
    _requests("discards", "discards that finished"),
    _requests("discard_merges", "discards joined with a neighbour before they were queued"),
    _bytes("discard", "bytes discarded"),
    _time("discard", "time that discards took, added up"),
    _requests("flushes", "flushes of the device's own cache that finished"),
    _time("flush", "time that flushes took, added up"),
)


class StorageCollector(DeviceCollector):
    name: ClassVar[str] = "storage"
    origin: ClassVar[Origin] = Origin("/proc/diskstats", 0.001)
    metrics: ClassVar[tuple[Metric, ...]] = _COLUMNS
    subsystem: ClassVar[Subsystem] = "storage"
    path: ClassVar[str] = "/proc/diskstats"

    def columns(self, lines: Sequence[bytes]) -> Sequence[Metric | None]:
        """The file has no header: newer kernels add columns at the end."""
        return _COLUMNS

    def split(self, line: bytes) -> tuple[str, Words]:
        """A shorter line is a partition of a kernel before 2.6.25, whose four columns are others."""
        words = line.split()
        return (device_name(words[2]), words[3:]) if len(words) >= 3 + _FEWEST_COLUMNS else ("", ())

    def choose(self, host: Host, found: Mapping[str, Words]) -> Choice:
        whole = [name for name in found if not is_partition(host, name, found)]
        amounts = {name: busy(found[name]) for name in whole}
        active = [name for name, amount in amounts.items() if amount]
        active.sort(key=lambda name: (not _is_physical(host, name), -amounts[name]))
        return Choice(tuple(active), tuple(name for name, amount in amounts.items() if not amount))


def is_partition(host: Host, name: str, others: Collection[str]) -> bool:
    """By /sys where it shows the device; else by name: `sda1` of `sda`, `nvme0n1p2` of `nvme0n1`."""
    folder = name.replace("/", "!")
    if is_there(host.path("/sys/block", folder)):
        return False
    if is_there(host.path("/sys/class/block", folder, "partition")):
        return True
    found = _PARTITION.fullmatch(name)
    return bool(found) and (found[1] or found[2]) in others if found else False


def _is_physical(host: Host, name: str) -> bool:
    return is_link(host.path("/sys/block", name.replace("/", "!"), "device"))
