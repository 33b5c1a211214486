"""Power that processors and memory draw, by RAPL through /sys/class/powercap; Documentation/power/powercap/powercap.rst.

The kernel shows energy, in microjoules, that wraps at `max_energy_range_uj`: within a minute at high power on some
processors. Here it is unwrapped, so that no reading is lost. Since Linux 5.10 the files are for root alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from hostsight.channel import Subsystem
from ingest.collector import Host, Metric, Origin, Slot
from ingest.collectors.smallfiles import (
    SmallFile,
    SmallFilesCollector,
    is_folder,
    is_there,
    one_number,
    plain,
    read_word,
)
from ingest.collectors.sysclass import class_devices, class_folder
from ingest.collectors.words import number

_KIND = "powercap"
_ZONE = re.compile(r"(?P<control>.+?)(?P<places>(?::\w+)+)")
_SECOND_WAY = "intel-rapl-mmio"
"""Packages that are zones of the registers as well, by which servers have them alone."""
_MEMORY = "dram"
_ENERGY, _LIMIT = "energy_uj", "constraint_0_power_limit_uw"
_PERIOD = 0.001
_MICRO = 1e-6

POWER = Metric("power_watts", "W", "rate", "power drawn: energy used per second", scale=_MICRO)
LIMIT = Metric("power_limit_watts", "W", "gauge", "power that the zone may draw for long", scale=_MICRO)


class Unwrapped:
    """A counter that starts again from 0 at `size`, as one that does not."""

    __slots__ = ("_last", "_size", "_turns")

    def __init__(self, size: float) -> None:
        self._size = size
        self._last = self._turns = 0.0

    def __call__(self, content: bytes) -> tuple[float]:
        (now,) = one_number(content)
        if now < self._last and self._size > self._last:
            self._turns += self._size
        if now >= 0:
            self._last = now
        return (now + self._turns,)


class PowerCollector(SmallFilesCollector):
    """The device is the zone's name, `package-0`, with its package's before it, `package-0-dram`."""

    name: ClassVar[str] = "power"
    origin: ClassVar[Origin] = Origin(
        "/sys/class/powercap/intel-rapl*", 0.001, "root, or files that others may read"
    )
    metrics: ClassVar[tuple[Metric, ...]] = (POWER, LIMIT)
    nothing: ClassVar[str] = f"/sys/class/{_KIND} shows no RAPL zone"
    remedy: ClassVar[str] = "modprobe intel_rapl_msr (Intel and AMD); a virtual machine has none"
    permission_remedy: ClassVar[str] = f"run the agent as root, or chmod a+r /sys/class/{_KIND}/*/energy_uj"

    def files(self, host: Host) -> Iterator[SmallFile]:
        seen: set[str] = set()
        for zone in _zones(host):
            device, subsystem = _device(zone)
            if device and device not in seen:
                seen.add(device)
                source = f"/{zone.relative_to(host.root)}"
                energy = Slot(subsystem, device, POWER, _PERIOD, f"{source}/{_ENERGY}")
                yield SmallFile(zone / _ENERGY, (energy,), Unwrapped(_size(zone)))
                if read_word(zone / "constraint_0_name") == "long_term":
                    limit = Slot(subsystem, device, LIMIT, _PERIOD, f"{source}/{_LIMIT}")
                    yield SmallFile(zone / _LIMIT, (limit,))

    def folders(self, host: Host) -> Sequence[Path]:
        return [class_folder(host, _KIND)]


def _zones(host: Host) -> list[Path]:
    """Zones that count energy. A captured tree may show them below their control type only, one inside another."""
    zones: list[Path] = []
    found = class_devices(host, _KIND)
    while found:
        zone = found.pop(0)
        if is_there(zone / _ENERGY):
            zones.append(zone)
        if not host.live:
            inner = [
                path for path in sorted(zone.glob(f"{zone.name.partition(':')[0]}:*")) if is_folder(path)
            ]
            found += [path for path in inner if path.name not in {zone.name for zone in (*zones, *found)}]
    return sorted(zones, key=lambda zone: zone.name.startswith(_SECOND_WAY))


def _device(zone: Path) -> tuple[str, Subsystem]:
    """The zone's name, and what draws the power."""
    name = plain(read_word(zone / "name"))
    found = _ZONE.fullmatch(zone.name)
    places = found["places"] if found else ""
    if name and found and places.count(":") > 1:
        outer = zone.with_name(found["control"] + places.rpartition(":")[0])
        outer = outer if is_folder(outer) else zone.parent
        name = f"{plain(read_word(outer / 'name'))}-{name}"
    return name, "memory" if name.endswith(_MEMORY) else "cpu"


def _size(zone: Path) -> float:
    """The energy at which the zone's counter wraps, microjoules; NaN where the kernel does not say."""
    return number(read_word(zone / "max_energy_range_uj").encode())
