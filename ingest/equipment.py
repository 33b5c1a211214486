"""The devices that a host is made of, as /sys shows them, and those it is remembered to have had."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from hostsight.channel import Subsystem
from hostsight.errors import UsageError, nearest
from hostsight.files import write_atomic
from ingest.collector import Host
from ingest.collectors.pci import pci_folders
from ingest.collectors.smallfiles import is_there, names_in, read_word
from ingest.collectors.sysclass import class_devices, natural
from ingest.collectors.topology import nodes, parse_list

Kind = Literal["cpu", "dimm", "gpu", "nic", "hca", "disk"]

SUBSYSTEM_OF: dict[Kind, Subsystem] = {
    "cpu": "cpu",
    "dimm": "memory",
    "gpu": "gpu",
    "nic": "network",
    "hca": "network",
    "disk": "storage",
}
WORDS: dict[Kind, str] = {
    "cpu": "CPU",
    "dimm": "memory module",
    "gpu": "GPU",
    "nic": "network interface",
    "hca": "InfiniBand or RoCE adapter",
    "disk": "disk",
}

ONLINE_CPUS = "/sys/devices/system/cpu/online"
MODULES = "/sys/devices/system/edac/mc"
DISKS = "/sys/block"

_CPU = re.compile(r"cpu(\d{1,6})")
_ACCELERATORS = ("0x0302", "0x0380", "0x12")
"""PCI classes: 3D and other display controllers, processing accelerators."""
_VGA = "0x0300"
_GPU_VENDORS = {"0x10de", "0x1002", "0x8086"}
"""Whose VGA controllers are GPUs: a server's board has one of another vendor for its console."""


class Device(msgspec.Struct, frozen=True, order=True):
    """`name` as the kernel has it: cpu3, eth0, mlx5_0, nvme0n1, mc0-dimm3, and a PCI address for a GPU.

    `place`: the hardware below, such as a PCI address, by which a device that was renamed is known again; empty where unknown.
    """

    kind: Kind
    name: str
    place: str = ""


class Remembered(msgspec.Struct, frozen=True):
    """A device that was seen. `lost_ns`: wall time since when it is missing; None while it is there."""

    device: Device
    since_ns: int
    lost_ns: int | None = None


def present(host: Host) -> frozenset[Device]:
    """All devices that are there now; a kind that /sys does not show has none."""
    return frozenset(
        (
            *(Device("cpu", f"cpu{number}") for number in parse_list(read_word(host.path(ONLINE_CPUS)))),
            *(Device("dimm", name) for name in _modules(host)),
            *(Device("gpu", path.name) for path in pci_folders(host) if _is_gpu(path)),
            *(_placed("nic", path) for path in class_devices(host, "net") if is_there(path / "device")),
            *(_placed("hca", path) for path in class_devices(host, "infiniband")),
            *(_placed("disk", path) for path in _disks(host)),
        )
    )


def offline_cpus(host: Host) -> list[int]:
    """CPUs that are there and switched off, ascending; each CPU says so itself where a list of them is missing."""
    folder = host.path("/sys/devices/system/cpu")
    online, there = ({*parse_list(read_word(folder / file))} for file in ("online", "present"))
    if online and there:
        return sorted(there - online)
    cpus = (found for found in map(_CPU.fullmatch, names_in(folder)) if found)
    return sorted(int(cpu[1]) for cpu in cpus if read_word(folder / cpu[0] / "online") == "0")


def offline_nodes(host: Host) -> list[int]:
    """NUMA nodes that have memory or CPUs and do not show them, ascending."""
    folder = host.path("/sys/devices/system/node")
    known = {node for file in ("has_memory", "has_cpu") for node in parse_list(read_word(folder / file))}
    return sorted(known - {*nodes(host)})


def spans(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of each run of ascending numbers: `[(0, 3), (8, 8)]` of 0, 1, 2, 3, 8."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def ranges(runs: Sequence[tuple[int, int]]) -> str:
    """`0-3, 8`."""
    return ", ".join(f"{first}-{last}" if first < last else f"{first}" for first, last in runs)


def update(known: dict[Device, Remembered], now: frozenset[Device], now_ns: int) -> dict[Device, Remembered]:
    """What to remember from now on: `known` itself where nothing changed. A device that was renamed is not missing."""
    appeared = {device: Remembered(device, now_ns) for device in now - known.keys()}
    taken = {(device.kind, device.place) for device in appeared if device.place}
    kept = {
        device: one
        for device, one in known.items()
        if device in now or (device.kind, device.place) not in taken
    }
    changed = {device: _seen(one, device in now, now_ns) for device, one in kept.items()}
    return known if not appeared and changed == known else {**changed, **appeared}


def missing(known: dict[Device, Remembered], now: frozenset[Device]) -> list[Remembered]:
    """Devices that were there once and are not now, in natural order."""
    gone = (one for device, one in known.items() if device not in now)
    return sorted(gone, key=lambda one: (one.device.kind, natural(one.device.name)))


class Memory:
    """Devices seen before, in a small file. Another root is another host: what is known of one says nothing of the other."""

    def __init__(self, path: Path, host: Host) -> None:
        self.path = path
        self._root = str(host.root)

    def load(self) -> dict[Device, Remembered]:
        """Nothing where nothing is known yet, or the file is damaged or of another version."""
        try:
            kept = msgspec.json.decode(self.path.read_bytes(), type=_Kept)
        except (OSError, msgspec.DecodeError):
            return {}
        return {one.device: one for one in kept.devices} if kept.root == self._root else {}

    def save(self, known: dict[Device, Remembered]) -> None:
        """Raises StorageError, FullError."""
        devices = sorted(known.values(), key=lambda one: one.device)
        write_atomic(self.path, msgspec.json.encode(_Kept(self._root, devices)))

    def forget(self, name: str) -> None:
        """Expect the device of that name no longer. Raises UsageError where none is known by it, StorageError."""
        known = self.load()
        kept = {device: one for device, one in known.items() if device.name != name}
        if len(kept) == len(known):
            names = [device.name for device in known]
            raise UsageError(
                f"no device '{name}' is remembered in {self.path}{nearest(name, names)}; `hostsight doctor` names the missing ones"
            )
        self.save(kept)


class _Kept(msgspec.Struct, frozen=True):
    root: str
    devices: list[Remembered]


def _seen(one: Remembered, here: bool, now_ns: int) -> Remembered:
    if here == (one.lost_ns is None):
        return one
    return Remembered(one.device, one.since_ns, None if here else now_ns)


def _modules(host: Host) -> Iterator[str]:
    """Memory modules that the EDAC driver of a memory controller sees."""
    root = host.path(MODULES)
    for controller in names_in(root):
        for module in names_in(root / controller):
            filled = read_word(root / controller / module / "size") not in {"", "0"}
            if re.fullmatch(r"(dimm|rank)\d+", module) and filled:
                yield f"{controller}-{module}"


def _is_gpu(folder: Path) -> bool:
    code = read_word(folder / "class")
    return code.startswith(_ACCELERATORS) or (
        code.startswith(_VGA) and read_word(folder / "vendor") in _GPU_VENDORS
    )


def _placed(kind: Kind, path: Path) -> Device:
    try:
        place = (path / "device").readlink().name
    except OSError:
        place = ""
    return Device(kind, path.name, place)


def _disks(host: Host) -> Iterator[Path]:
    """Whole disks of their own hardware that nobody is expected to take out."""
    root = host.path(DISKS)
    for name in names_in(root):
        if is_there(root / name / "device") and read_word(root / name / "removable") != "1":
            yield root / name
