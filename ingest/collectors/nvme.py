"""NVMe controllers: their state, from /sys/class/nvme, and their own health log, which root may ask for.

NVM Express base specification, SMART / Health Information (log page 02h).
"""

from __future__ import annotations

import ctypes
import fcntl
import math
import os
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from hostsight.errors import NoDataError
from ingest.collector import Host, Metric, Origin, Slot, Tier, Values
from ingest.collectors.smallfiles import SmallFile, SmallFilesCollector, names_in, read_word
from ingest.collectors.sysclass import class_devices, class_folder
from ingest.collectors.tables import LIVE, way_out, why
from ingest.collectors.words import number

_KIND = "nvme"
_CONTROLLER = re.compile(r"nvme\d+")
_NAMESPACE = re.compile(r"nvme\d+(?:c\d+)?n\d+")
_SECTOR = 512.0
_NOTHING = f"/sys/class/{_KIND} shows no controller"

LIVE_STATE = Metric(
    "nvme_live", "1", "state", "1 where the controller works, 0 where it resets, connects or is dead"
)
USED = Metric("nvme_used_bytes", "B", "gauge", "space in use, as the device itself counts it")
SIZE = Metric("nvme_size_bytes", "B", "gauge", "space that the namespace has", scale=_SECTOR)


class NvmeCollector(SmallFilesCollector):
    """State of each controller, use of each namespace."""

    name: ClassVar[str] = "nvme"
    origin: ClassVar[Origin] = Origin("/sys/class/nvme", 0.001, "an NVMe controller")
    tier: ClassVar[Tier] = Tier.SLOW
    metrics: ClassVar[tuple[Metric, ...]] = (LIVE_STATE, USED, SIZE)
    nothing: ClassVar[str] = _NOTHING

    def files(self, host: Host) -> Iterator[SmallFile]:
        for folder in _controllers(host):
            yield SmallFile(
                folder / "state", (_slot(host, folder / "state", folder.name, LIVE_STATE),), is_live
            )
            for name in filter(_NAMESPACE.fullmatch, names_in(folder)):
                yield from _space(host, folder / name)

    def folders(self, host: Host) -> Sequence[Path]:
        return [class_folder(host, _KIND)]


def is_live(content: bytes) -> tuple[float]:
    return (float(content.strip() == b"live") if content.strip() else math.nan,)


def _controllers(host: Host) -> list[Path]:
    return [folder for folder in class_devices(host, _KIND) if _CONTROLLER.fullmatch(folder.name)]


def _space(host: Host, space: Path) -> Iterator[SmallFile]:
    block = number(read_word(space / "queue" / "logical_block_size").encode())
    yield SmallFile(
        space / "nuse",
        (_slot(host, space / "nuse", space.name, USED),),
        lambda content: (number(content.strip()) * block,),
    )
    yield SmallFile(space / "size", (_slot(host, space / "size", space.name, SIZE),))


def _slot(host: Host, path: Path, device: str, metric: Metric) -> Slot:
    return Slot("storage", device, metric, LIVE, f"/{path.relative_to(host.root)}")


Ioctl = Callable[[int, int, bytearray], int]

ADMIN_COMMAND = 0xC0484E41
"""NVME_IOCTL_ADMIN_CMD: _IOWR('N', 0x41, struct nvme_admin_cmd)."""
GET_LOG_PAGE = 0x02
HEALTH_LOG = 0x02
LOG_BYTES = 512
ALL_NAMESPACES = 0xFFFFFFFF
COMMAND = struct.Struct("<BBHIIIQQIIIIIIIIII")
"""struct nvme_admin_cmd of linux/nvme_ioctl.h: opcode, flags, rsvd, nsid, cdw2, cdw3, metadata, addr, metadata_len,
data_len, cdw10 to cdw15, timeout_ms, result."""
_TIMEOUT_MS = 5000
_UNITS = 512_000.0
_KELVIN = 273.15
_PERIOD = 60.0

_HEALTH: tuple[tuple[Metric, int, int, float], ...] = (
    (Metric("nvme_critical_warnings", "1", "state", "bits of the device's critical warnings; 0 where all is well"), 0, 1, 0),
    (Metric("nvme_temperature_celsius", "°C", "gauge", "temperature of the whole device"), 1, 2, -_KELVIN),
    (Metric("nvme_spare_percent", "%", "gauge", "spare blocks that are left"), 3, 1, 0),
    (Metric("nvme_worn_percent", "%", "gauge", "share of the rated life that is used; may pass 100"), 5, 1, 0),
    (Metric("nvme_read_bytes_per_s", "B/s", "rate", "data that the host read, as the device counts", scale=_UNITS), 32, 16, 0),
    (Metric("nvme_write_bytes_per_s", "B/s", "rate", "data that the host wrote, as the device counts", scale=_UNITS), 48, 16, 0),
    (Metric("nvme_busy_percent", "%", "rate", "time in which the device had commands; counted in minutes", scale=6000.0), 96, 16, 0),
    (Metric("nvme_unsafe_shutdowns_per_s", "1/s", "rate", "times that the power went without notice"), 144, 16, 0),
    (Metric("nvme_media_errors_per_s", "errors/s", "rate", "data that the device could not read or keep intact"), 160, 16, 0),
    (Metric("nvme_error_log_entries_per_s", "errors/s", "rate", "entries of the device's error log"), 176, 16, 0),
    (Metric("nvme_hot_percent", "%", "rate", "time above the warning temperature; counted in minutes", scale=6000.0), 192, 4, 0),
    (Metric("nvme_critically_hot_percent", "%", "rate", "time above the critical temperature; counted in minutes", scale=6000.0), 196, 4, 0),
)  # fmt: skip
"""Metric, offset and size in the log (little endian), and what is added."""


class NvmeHealthCollector:
    """The health log of each controller, by an ioctl on its character device."""

    name: ClassVar[str] = "nvme_health"
    origin: ClassVar[Origin] = Origin(
        "log page 02h by the ioctl NVME_IOCTL_ADMIN_CMD on /dev/nvme*", 60.0, "root"
    )
    tier: ClassVar[Tier] = Tier.SLOW
    metrics: ClassVar[tuple[Metric, ...]] = tuple(metric for metric, *_ in _HEALTH)

    def __init__(self, ioctl: Ioctl = fcntl.ioctl) -> None:
        self._ioctl = ioctl
        self._host = Host(Path("/"))
        self._controllers: list[str] = []
        self._names: list[str] = []
        self._absent: list[tuple[str, str, str]] = []

    def open(self, host: Host) -> Sequence[Slot]:
        self.close()
        self._host = host
        self._names = _names(host)
        if not self._names:
            raise NoDataError(f"no health log: {_NOTHING}")
        for name in self._names[: host.device_limit]:
            try:
                self._log(name)
            except OSError as error:
                self._absent.append((f"health log of {name}", why(error), way_out(error)))
            else:
                self._controllers.append(name)
        if not self._controllers:
            raise NoDataError(f"the {self._absent[0][0]} cannot be read", *self._absent[0][1:])
        return [
            Slot("storage", name, metric, _PERIOD, f"/dev/{name}")
            for name in self._controllers
            for metric, *_ in _HEALTH
        ]

    def read(self, out: Values) -> bool:
        if _names(self._host) != self._names:
            return False
        for at, name in enumerate(self._controllers):
            try:
                values = health(self._log(name))
            except OSError:
                continue
            out[at * len(_HEALTH) : (at + 1) * len(_HEALTH)] = values
        return True

    def absent(self) -> Sequence[tuple[str, str, str]]:
        return tuple(self._absent)

    def close(self) -> None:
        self._controllers, self._absent = [], []

    def _log(self, name: str) -> bytes:
        """The controller's health log; raises OSError."""
        fd = os.open(self._host.path("dev", name), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return ask_health(fd, self._ioctl)
        finally:
            os.close(fd)


def ask_health(fd: int, ioctl: Ioctl) -> bytes:
    """512 bytes of log page 02h; raises OSError where the device or the kernel refuses."""
    log = ctypes.create_string_buffer(LOG_BYTES)
    words = LOG_BYTES // 4 - 1
    command = bytearray(
        COMMAND.pack(
            GET_LOG_PAGE, 0, 0, ALL_NAMESPACES, 0, 0, 0, ctypes.addressof(log), 0, LOG_BYTES,
            words << 16 | HEALTH_LOG, 0, 0, 0, 0, 0, _TIMEOUT_MS, 0,
        )
    )  # fmt: skip
    status = ioctl(fd, ADMIN_COMMAND, command)
    if status:
        raise OSError(f"the device answered with status {status:#x}")
    return log.raw


def health(log: bytes) -> list[float]:
    """Values of the health log, before their metrics' scale; a temperature of 0 K is absent."""
    values = [int.from_bytes(log[start : start + size], "little") + more for _, start, size, more in _HEALTH]
    return [math.nan if value == -_KELVIN else float(value) for value in values]


def _names(host: Host) -> list[str]:
    return [folder.name for folder in _controllers(host)]
