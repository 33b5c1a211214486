"""PCI devices that take interrupts: their interrupt numbers, NUMA node, and what the kernel calls the thing they drive."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ingest.collector import Host
from ingest.collectors.smallfiles import is_folder, is_link, names_in, read_word

ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]")
BUS = "/sys/bus/pci/devices"
_VIRTIO = re.compile(r"virtio\d+")
_CLASSES = ("net", "block", "nvme")


@dataclass(frozen=True, slots=True)
class PciDevice:
    """`node` is None where the firmware does not say; `names` are network interfaces, disks or NVMe controllers."""

    address: str
    node: int | None
    interrupts: tuple[int, ...]
    names: tuple[str, ...]


def pci_devices(host: Host) -> list[PciDevice]:
    """All PCI devices below /sys/devices that have message-signalled interrupts; empty where the tree has none."""
    found = [_device(path) for path in pci_folders(host)]
    return [device for device in found if device.interrupts]


def pci_folders(host: Host) -> list[Path]:
    """The folders of all PCI devices, bridges before what stands behind them.

    Devices behind Intel's VMD, or handed to a virtual machine of Hyper-V, hang elsewhere below /sys/devices: the bus
    lists them.
    """
    found: list[Path] = []
    for bridge in _children(host.path("/sys/devices")):
        if bridge.name.startswith("pci"):
            found += _walk(bridge)
    known = {folder.name for folder in found}
    listed = (folder for folder in _children(host.path(BUS)) if ADDRESS.fullmatch(folder.name))
    return found + [folder for folder in listed if folder.name not in known and is_folder(folder)]


def _walk(folder: Path) -> Iterator[Path]:
    """PCI devices nest by the bridges they stand behind."""
    for name in filter(ADDRESS.fullmatch, names_in(folder)):
        child = folder / name
        if not is_link(child):
            yield child
            yield from _walk(child)


def _children(folder: Path) -> list[Path]:
    return [folder / name for name in names_in(folder)]


def _device(path: Path) -> PciDevice:
    interrupts = tuple(int(entry.name) for entry in _children(path / "msi_irqs") if entry.name.isdecimal())
    return PciDevice(path.name, _node(path), interrupts, tuple(_names(path)))


def _node(path: Path) -> int | None:
    try:
        node = int(read_word(path / "numa_node"))
    except ValueError:
        return None
    return node if node >= 0 else None


def _names(path: Path) -> Iterator[str]:
    parents = [path, *(child for child in _children(path) if _VIRTIO.fullmatch(child.name))]
    for parent in parents:
        for kind in _CLASSES:
            yield from (entry.name for entry in _children(parent / kind))
