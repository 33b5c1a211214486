"""PCI Express links and the errors on them, from /sys/bus/pci; Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats.

A link that runs narrower or slower than both of its ends can is a card that is badly seated, or a slot that is too small.
Some devices slow their link down while they are idle.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from ingest.collector import Host, Metric, Origin, Slot, Tier
from ingest.collectors.pci import BUS, pci_folders
from ingest.collectors.smallfiles import SmallFile, SmallFilesCollector, one_number, read_word
from ingest.collectors.tables import LIVE
from ingest.collectors.words import number

_BRIDGE = "0x06"
_UNKNOWN_LANES = 255

GENERATION = Metric("link_generation", "1", "gauge", "PCI Express generation at whose speed the link runs")
LANES = Metric("link_lanes", "lanes", "gauge", "lanes that the link uses")
SPEED = Metric(
    "link_speed_transfers_per_s", "transfers/s", "gauge", "transfers a second on each lane", scale=1e9
)
SPEED_SHARE = Metric(
    "link_speed_percent", "%", "gauge", "speed of the link as a share of what the device can do"
)
LANES_SHARE = Metric(
    "link_lanes_percent", "%", "gauge", "lanes that the link uses as a share of those the device has"
)
_AER: dict[str, Metric] = {
    "aer_dev_correctable": Metric(
        "pcie_correctable_errors_per_s", "errors/s", "rate", "errors on the link that the hardware corrected"
    ),
    "aer_dev_nonfatal": Metric(
        "pcie_nonfatal_errors_per_s",
        "errors/s",
        "rate",
        "errors that lost a transaction; the link still works",
    ),
    "aer_dev_fatal": Metric(
        "pcie_fatal_errors_per_s", "errors/s", "rate", "errors after which the link cannot be relied on"
    ),
}
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6, 128.0: 7}
_SPEED = re.compile(rb"\s*(\d+(?:\.\d+)?)\s*GT/s")


class PcieCollector(SmallFilesCollector):
    """Devices before bridges, those with the fastest links first."""

    name: ClassVar[str] = "pcie"
    origin: ClassVar[Origin] = Origin(
        "/sys/devices/pci*: current_link_*, max_link_*, aer_dev_*",
        0.001,
        "real hardware; AER enabled by the firmware for errors",
    )
    tier: ClassVar[Tier] = Tier.SLOW
    metrics: ClassVar[tuple[Metric, ...]] = (
        GENERATION, LANES, SPEED, SPEED_SHARE, LANES_SHARE, *_AER.values()
    )  # fmt: skip
    nothing: ClassVar[str] = f"{BUS} shows no PCI Express link (usual in a virtual machine)"

    def files(self, host: Host) -> Iterator[SmallFile]:
        folders = [*pci_folders(host)]
        for folder in sorted(folders, key=_rank):
            yield from _link(host, folder)
            for file, metric in _AER.items():
                yield SmallFile(folder / file, (_slot(host, folder, file, metric),), total)

    def folders(self, host: Host) -> Sequence[Path]:
        return [host.path(BUS)]


def gigatransfers(content: bytes) -> float:
    """`8.0 GT/s PCIe` is 8.0; NaN for `Unknown`."""
    found = _SPEED.match(content)
    return number(found[1]) if found else math.nan


def total(content: bytes) -> tuple[float]:
    """The line `TOTAL_ERR_COR 9` of an AER file."""
    for line in content.splitlines():
        words = line.split()
        if len(words) == 2 and words[0].startswith(b"TOTAL_ERR"):
            return (number(words[1]),)
    return (math.nan,)


def _rank(folder: Path) -> tuple[bool, float]:
    speed = gigatransfers(read_word(folder / "current_link_speed").encode())
    lanes = number(read_word(folder / "current_link_width").encode())
    bandwidth = speed * lanes
    return read_word(folder / "class").startswith(_BRIDGE), -bandwidth if bandwidth > 0 else 0.0


def _link(host: Host, folder: Path) -> Iterator[SmallFile]:
    """Speed and width of a link that is up; an empty slot has no lanes, a built-in device no link."""
    lanes = number(read_word(folder / "max_link_width").encode())
    if number(read_word(folder / "current_link_width").encode()) > 0 and 0 < lanes < _UNKNOWN_LANES:
        most = gigatransfers(read_word(folder / "max_link_speed").encode())
        file = "current_link_speed"
        slots = tuple(_slot(host, folder, file, metric) for metric in (SPEED, GENERATION, SPEED_SHARE))
        yield SmallFile(folder / file, slots, partial(_speeds, most=most))
        file = "current_link_width"
        slots = tuple(_slot(host, folder, file, metric) for metric in (LANES, LANES_SHARE))
        yield SmallFile(folder / file, slots, partial(_widths, most=lanes))


def _speeds(content: bytes, most: float) -> tuple[float, float, float]:
    speed = gigatransfers(content)
    share = 100 * speed / most if most > 0 else math.nan
    return speed, _GENERATIONS.get(speed, math.nan), share


def _widths(content: bytes, most: float) -> tuple[float, float]:
    (lanes,) = one_number(content)
    return lanes, 100 * lanes / most


def _slot(host: Host, folder: Path, file: str, metric: Metric) -> Slot:
    return Slot("interconnect", folder.name, metric, LIVE, f"/{folder.relative_to(host.root)}/{file}")
