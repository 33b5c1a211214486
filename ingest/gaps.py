"""What a look at a host finds missing among the channels that its collectors list."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ingest.collector import Collector, Host, Slot
from ingest.collectors.pci import BUS
from ingest.collectors.smallfiles import is_there, listed, names_in
from ingest.collectors.tables import AS_ROOT
from ingest.equipment import present

Gap = tuple[str, str, str]
"""What, reason, remedy: as `Collector.absent` says it."""

_FOLDERS = (
    "/proc", "/proc/net", "/sys", "/sys/block", "/sys/bus", "/sys/class", "/sys/devices", "/sys/devices/system",
    "/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup",
)  # fmt: skip
_OF_EQUIPMENT = {"missing_gpus", "device_present", "device_lost"}
_NAMED = 8
"""So many metrics of one collector are named; of more, only how many there are."""


def outside(host: Host, slots: Iterable[Slot]) -> frozenset[str]:
    """Sources that a link leads out of a captured tree: they say nothing of the host that it was taken from."""
    if host.live:
        return frozenset()
    root = host.root.resolve()
    return frozenset(source for source in {slot.source for slot in slots} if _leaves(root, source))


def _leaves(root: Path, source: str) -> bool:
    """`source` is a path, perhaps with `*` in it, and what is taken from it: `/proc/stat ctxt`."""
    path = source.partition(" ")[0].strip("/,")
    places = root.glob(path) if "*" in path else [root / path]
    return any(not Path(os.path.realpath(place)).is_relative_to(root) for place in places)


def left_out(name: str, slots: Sequence[Slot], sources: frozenset[str]) -> Iterator[Gap]:
    """The channels of the collector `name` that come from `sources`, which lead out of the tree."""
    found = sorted({slot.source.partition(" ")[0] for slot in slots if slot.source in sources})
    if found:
        yield listed(name, found), "a link leads out of the tree", ""


_READ_GPUS = "name a collector of your own in [agent] collectors, or judge what telegraf's nvidia_smi keeps in InfluxDB"


def graphics(host: Host, slots: Iterable[Slot]) -> Iterator[Gap]:
    """Why there is little of GPUs: no collector asks their drivers."""
    if any(slot.subsystem == "gpu" and slot.metric.name not in _OF_EQUIPMENT for slot in slots):
        return
    driven = names_in(host.path("/proc/driver/nvidia/gpus"))
    known = {device.name for device in present(host) if device.kind == "gpu"} | {*driven}
    if known:
        yield f"use, memory, power and errors of GPU {', '.join(sorted(known))}", "not supported", _READ_GPUS
    else:
        yield f"{BUS} shows no GPU", "no such device", ""


def shut(host: Host) -> Iterator[Gap]:
    """Folders of many collectors that this user may not look into: what they hold is not seen to be missing."""
    for folder in _FOLDERS:
        path = host.path(folder)
        if is_there(path) and not os.access(path, os.R_OK | os.X_OK, effective_ids=True):
            yield f"all below {folder}", "permission", AS_ROOT


def silent(host: Host, collector: Collector, slots: Sequence[Slot], raw: Sequence[float]) -> list[Gap]:
    """Channels that are listed and have no value: what their files say is no number, or may not be read.

    A collector with `settles_later` says that its first reading may lack values, an event only comes when it happens.
    """
    if getattr(collector, "settles_later", False):
        return []
    devices: dict[tuple[str, str, str], list[str]] = {}
    for slot, value in zip(slots, raw, strict=False):
        if not math.isfinite(value) and slot.metric.kind != "event":
            devices.setdefault((slot.metric.name, *_reason(host, slot)), []).append(slot.device)
    if len(devices) > _NAMED:
        metric, *why = next(iter(devices))
        return [(f"{len(devices)} metrics of {collector.name}, such as {metric}", why[0], why[1])]
    return [(listed(metric, those), reason, remedy) for (metric, reason, remedy), those in devices.items()]


def _reason(host: Host, slot: Slot) -> tuple[str, str]:
    """Why a slot has no value, and the remedy."""
    path = host.path(slot.source.partition(" ")[0])
    refused = is_there(path) and not os.access(path, os.R_OK, effective_ids=True)
    return ("permission", AS_ROOT) if refused else ("N/A", "")
