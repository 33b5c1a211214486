"""Whether the devices that this host once had are still there.

Each device but the CPUs has a channel `device_present`; a CPU gets one when it is missing. The agent remembers devices in
its data folder, so one that is lost while no agent runs is missed as well.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from hostsight.channel import WHOLE_HOST
from hostsight.errors import NoDataError, StorageError
from ingest.collector import Host, Metric, Origin, Slot, Tier, Values
from ingest.collectors.interfaces import INTERFACES
from ingest.collectors.pci import BUS
from ingest.collectors.sysclass import natural
from ingest.equipment import (
    DISKS,
    MODULES,
    ONLINE_CPUS,
    SUBSYSTEM_OF,
    Device,
    Kind,
    Memory,
    Remembered,
    missing,
    offline_cpus,
    present,
    ranges,
    spans,
    update,
)

PRESENT = Metric(
    "device_present", "1", "state", "1 while a device that was seen before is there, 0 when it is missing"
)
LOST = Metric("device_lost", "1", "event", "1 in the reading that first misses a device")


def _missing(kind: Kind, what: str) -> Metric:
    return Metric(f"missing_{kind}s", "devices", "gauge", f"{what} that were there before and are not now")


MISSING: dict[Kind, Metric] = {
    "cpu": _missing("cpu", "online CPUs"),
    "dimm": _missing("dimm", "memory modules"),
    "gpu": _missing("gpu", "GPUs on the PCI bus"),
    "nic": _missing("nic", "network interfaces of their own hardware"),
    "hca": _missing("hca", "InfiniBand and RoCE adapters"),
    "disk": _missing("disk", "disks"),
}
_SOURCE = "/sys, and equipment.json of the data folder"
_SHOWN: dict[Kind, str] = {
    "cpu": ONLINE_CPUS, "dimm": MODULES, "gpu": BUS, "nic": INTERFACES, "hca": "/sys/class/infiniband", "disk": DISKS
}  # fmt: skip


def _source(kind: Kind) -> str:
    return f"{_SHOWN[kind]}, and equipment.json of the data folder"


class EquipmentCollector:
    name: ClassVar[str] = "equipment"
    origin: ClassVar[Origin] = Origin(_SOURCE, 0.0)
    tier: ClassVar[Tier] = Tier.SLOW
    metrics: ClassVar[tuple[Metric, ...]] = (PRESENT, LOST, *MISSING.values())

    def __init__(self) -> None:
        self.memory: Memory | None = None
        """Where devices are remembered; None: only as long as this collector lives."""
        self._host: Host | None = None
        self._saved = True
        self._known: dict[Device, Remembered] = {}
        self._lost: set[Device] = set()
        self._kinds: tuple[Kind, ...] = ()
        self._devices: tuple[Device, ...] = ()

    def open(self, host: Host) -> Sequence[Slot]:
        self._host = host
        now = self._look(host)
        self._kinds, self._devices = self._layout(now)
        if not self._kinds:
            raise NoDataError("/sys shows no devices", "not supported")
        slots = [
            Slot(SUBSYSTEM_OF[kind], WHOLE_HOST, MISSING[kind], 0.0, _source(kind)) for kind in self._kinds
        ]
        for device in self._devices:
            slots += [
                Slot(SUBSYSTEM_OF[device.kind], device.name, metric, 0.0, _source(device.kind))
                for metric in (PRESENT, LOST)
            ]
        return slots

    def read(self, out: Values) -> bool:
        if self._host is None:
            return False
        now = self._look(self._host)
        if (self._kinds, self._devices) != self._layout(now):
            return False
        gone = [one.device for one in missing(self._known, now)]
        count = len(self._kinds)
        out[:count] = [sum(device.kind == kind for device in gone) for kind in self._kinds]
        out[count::2] = [device in now for device in self._devices]
        out[count + 1 :: 2] = [1.0 if device in self._lost else np.nan for device in self._devices]
        self._lost.clear()
        return True

    def absent(self) -> Sequence[tuple[str, str, str]]:
        """CPUs that are switched off, whatever was remembered of them."""
        runs = spans(offline_cpus(self._host)) if self._host else []
        if not runs:
            return ()
        parts = [f"{{{first}..{last}}}" if first < last else f"{first}" for first, last in runs]
        cpus = parts[0] if len(parts) == 1 else f"{{{','.join(parts)}}}"
        remedy = f"echo 1 | sudo tee /sys/devices/system/cpu/cpu{cpus}/online"
        return [(f"CPU {ranges(runs)}", "offline", remedy)]

    def close(self) -> None: ...

    def _look(self, host: Host) -> frozenset[Device]:
        """The devices that are there; what has changed is remembered."""
        now, known = present(host), self._known
        if self.memory is not None and self._saved:
            known = self.memory.load() or known
        self._known = update(known, now, time.time_ns())
        if self.memory is not None and (self._known is not known or not self._saved):
            self._saved = _save(self.memory, self._known)
        newly = (one for one in missing(self._known, now) if self._is_new(one, known))
        self._lost |= {one.device for one in newly}
        return now

    def _is_new(self, one: Remembered, known: dict[Device, Remembered]) -> bool:
        before = known.get(one.device)
        return before is not None and before.lost_ns is None

    def _layout(self, now: frozenset[Device]) -> tuple[tuple[Kind, ...], tuple[Device, ...]]:
        """The kinds that are known, and the devices with a channel of their own; of each kind `device_limit` at most."""
        known = sorted(self._known, key=lambda device: natural(device.name))
        kinds = tuple(kind for kind in MISSING if any(device.kind == kind for device in known))
        limit = self._host.device_limit if self._host else 0
        shown: list[Device] = []
        for kind in kinds:
            own = [one for one in known if one.kind == kind and (kind != "cpu" or one not in now)]
            shown += sorted(own, key=lambda one: one in now)[:limit]
        return kinds, tuple(sorted(shown, key=lambda one: (one.kind, natural(one.name))))


def _save(memory: Memory, known: dict[Device, Remembered]) -> bool:
    """Whether it could be written; the recorder says where the data folder cannot be."""
    try:
        memory.save(known)
    except StorageError:
        return False
    return True
