"""Devices of a kind, as /sys/class lists them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ingest.collector import Host
from ingest.collectors.pci import pci_folders
from ingest.collectors.smallfiles import is_folder, names_in

_DIGITS = re.compile(r"(\d+)")


def natural(name: str) -> list[tuple[int, str]]:
    """Sort key by which `cpu10` comes after `cpu9`."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(name)]


def class_folder(host: Host, kind: str) -> Path:
    return host.path("/sys/class", kind)


def class_devices(host: Host, kind: str) -> list[Path]:
    """Folders of the devices of a kind, by name.

    Captures often lack /sys/class, or the folders that its links lead to: of those, devices that the PCI tree, platform
    and virtual devices hold directly are found as well.
    """
    listed = _folders(class_folder(host, kind))
    if not listed and not host.live:
        found = {path.name: path for path in _below_devices(host, kind)}
        listed = [*found.values()]
    return sorted(listed, key=lambda path: natural(path.name))


def _folders(folder: Path) -> list[Path]:
    return [folder / name for name in names_in(folder) if is_folder(folder / name)]


def _below_devices(host: Host, kind: str) -> Iterator[Path]:
    yield from _folders(host.path("/sys/devices/virtual", kind))
    for parent in (*_folders(host.path("/sys/devices/platform")), *pci_folders(host)):
        yield from _folders(parent / kind)
        for controller in _folders(parent / "nvme"):
            yield from (path for path in _folders(controller) if re.fullmatch(rf"{kind}\d+", path.name))
