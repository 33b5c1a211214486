"""What this machine is made of, by psutil: taken when somebody asks, never by the tick."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

_SECTOR = 512
_Known = TypeVar("_Known")
_Otherwise = TypeVar("_Otherwise")


@dataclass(frozen=True, slots=True)
class Nic:
    """A network interface. `speed_mbps` is 0 where the driver does not say."""

    name: str
    up: bool
    speed_mbps: int
    mtu: int


@dataclass(frozen=True, slots=True)
class Mount:
    """A mounted file system on a device. Sizes are in bytes; None where it cannot be asked."""

    path: str
    device: str
    kind: str
    total_bytes: int | None
    free_bytes: int | None


@dataclass(frozen=True, slots=True)
class Disk:
    """A whole block device that has a size; `rotational` is None where the kernel does not say."""

    name: str
    size_bytes: int | None
    rotational: bool | None


@dataclass(frozen=True, slots=True)
class Inventory:
    """None and nothing where this cannot be known: files are masked, or the kernel does not tell cores from threads."""

    kernel: str
    cpu_model: str
    cpus: int
    cores: int | None
    memory_bytes: int | None
    swap_bytes: int | None
    processes: int
    nics: tuple[Nic, ...]
    mounts: tuple[Mount, ...]
    disks: tuple[Disk, ...]


def take_inventory() -> Inventory:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # psutil tells of what it could not read
        return Inventory(
            kernel=platform.release(),
            cpu_model=cpu_model(),
            cpus=_asked(psutil.cpu_count, None) or 1,
            cores=_asked(lambda: psutil.cpu_count(logical=False), None),
            memory_bytes=_asked(lambda: psutil.virtual_memory().total, None) or None,
            swap_bytes=_asked(lambda: psutil.swap_memory().total, None),
            processes=len(_asked(psutil.pids, [])),
            nics=_asked(_nics, ()),
            mounts=_asked(_mounts, ()),
            disks=_asked(_disks, ()),
        )


def _asked(ask: Callable[[], _Known], otherwise: _Otherwise) -> _Known | _Otherwise:
    """`otherwise` where a file that psutil needs is masked or missing, as in some containers: it raises anything then."""
    try:
        return ask()
    except Exception:  # noqa: BLE001 - KeyError, IndexError, ValueError, OSError and its own, by what the file lacks
        return otherwise


def cpu_model(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """`model name` of the first CPU, or the architecture where the file has none (Arm)."""
    try:
        text = cpuinfo.read_text("utf-8", "replace")
    except OSError:
        return platform.machine()
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return " ".join(value.split())
    return platform.machine()


def _nics() -> tuple[Nic, ...]:
    stats = sorted(psutil.net_if_stats().items())
    return tuple(Nic(name, state.isup, state.speed, state.mtu) for name, state in stats)


def _mounts() -> tuple[Mount, ...]:
    mounts = []
    for part in psutil.disk_partitions(all=False):
        try:
            usage = psutil.disk_usage(part.mountpoint)
        except OSError:
            mounts.append(Mount(part.mountpoint, part.device, part.fstype, None, None))
        else:
            mounts.append(Mount(part.mountpoint, part.device, part.fstype, usage.total, usage.free))
    return tuple(mounts)


def _disks(block: Path = Path("/sys/block")) -> tuple[Disk, ...]:
    """Loop devices without a file and drives without a medium have no size."""
    whole = sorted(name for name in psutil.disk_io_counters(perdisk=True) if (block / name).is_dir())
    disks = (_disk(block / name) for name in whole)
    return tuple(disk for disk in disks if disk.size_bytes != 0)


def _disk(folder: Path) -> Disk:
    sectors = _number(folder / "size")
    rotational = _number(folder / "queue" / "rotational")
    return Disk(
        folder.name,
        None if sectors is None else sectors * _SECTOR,
        None if rotational is None else bool(rotational),
    )


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text("ascii"))
    except (OSError, ValueError):
        return None
