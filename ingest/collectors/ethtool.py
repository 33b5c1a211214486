"""Statistics that network drivers keep beside the standard ones, as `ethtool -S` shows them, by the SIOCETHTOOL ioctl.

Needs no rights. A driver may ask the adapter's firmware, so this is read in the background. include/uapi/linux/ethtool.h.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
import sys
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from hostsight.errors import NoDataError
from ingest.collector import Host, Metric, Origin, Slot, Tier, Values
from ingest.collectors.ethtool_names import METRICS, chosen
from ingest.collectors.interfaces import HardwareWatch
from ingest.collectors.tables import LIVE

Ioctl = Callable[[int, int, bytearray], int]

SIOCETHTOOL = 0x8946
DRIVER_INFO, STRINGS, STATISTICS = 0x03, 0x1B, 0x1D
STATISTICS_NAMES = 1
"""ETH_SS_STATS: the set of strings that names the statistics."""
NAME_BYTES = 32
INFO_BYTES, INFO_COUNT = 196, 180
"""Size of struct ethtool_drvinfo, and where its number of statistics stands."""
_REQUEST = struct.Struct("16sP16x")
_HEAD = struct.Struct("=II")
_STRINGS_HEAD = struct.Struct("=III")
_SPARE = 4096
"""Room for so many more: the kernel writes as many as the driver has by now, whatever it was asked for."""
_MOST = 65_536
_INTERFACE_BYTES = 15


class Ethtool:
    """Asks drivers about one host's interfaces. Methods raise OSError."""

    def __init__(self, ioctl: Ioctl) -> None:
        self._ioctl = ioctl
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)

    def driver(self, interface: str) -> tuple[str, int]:
        """The driver's name and its number of statistics."""
        answer = self._ask(interface, _HEAD.pack(DRIVER_INFO, 0), INFO_BYTES)
        name = answer[4 : 4 + NAME_BYTES].partition(b"\0")[0].decode("ascii", "replace")
        count = int.from_bytes(answer[INFO_COUNT : INFO_COUNT + 4], sys.byteorder)
        if count > _MOST:
            raise OSError(f"{interface} says it has {count} statistics")
        return name, count

    def names(self, interface: str, count: int) -> list[str]:
        head = _STRINGS_HEAD.pack(STRINGS, STATISTICS_NAMES, count)
        answer = self._ask(interface, head, len(head) + (count + _SPARE) * NAME_BYTES)
        given = min(_STRINGS_HEAD.unpack_from(answer)[2], count + _SPARE)
        starts = range(len(head), len(head) + given * NAME_BYTES, NAME_BYTES)
        return [answer[at : at + NAME_BYTES].partition(b"\0")[0].decode("ascii", "replace") for at in starts]

    def values(self, interface: str, count: int) -> Values:
        """float64[statistics]; fewer or more than `count` where the driver has changed."""
        head = _HEAD.pack(STATISTICS, count)
        answer = self._ask(interface, head, len(head) + (count + _SPARE) * 8)
        given = min(_HEAD.unpack_from(answer)[1], count + _SPARE)
        return np.frombuffer(answer, np.uint64, given, len(head)).astype(np.float64)

    def close(self) -> None:
        self._socket.close()

    def _ask(self, interface: str, head: bytes, size: int) -> bytes:
        answer = ctypes.create_string_buffer(head, size)
        request = bytearray(_REQUEST.pack(interface.encode()[:_INTERFACE_BYTES], ctypes.addressof(answer)))
        self._ioctl(self._socket.fileno(), SIOCETHTOOL, request)
        return answer.raw


class _Nic:
    """An interface: its statistics, and for each metric those that are added up."""

    def __init__(self, interface: str, ethtool: Ethtool) -> None:
        """Raises OSError where the driver keeps no statistics."""
        self.interface = interface
        driver, count = ethtool.driver(interface)
        names = ethtool.names(interface, count) if count else []
        self.count = len(names)
        self.chosen = chosen(driver, names)
        self._places = [np.array(one.places, np.intp) for one in self.chosen]

    def fold(self, values: Values) -> list[float]:
        return [float(values[places].sum()) for places in self._places]


class EthtoolCollector:
    name: ClassVar[str] = "ethtool"
    origin: ClassVar[Origin] = Origin(
        "the ioctl SIOCETHTOOL (as `ethtool -S`)", 0.001, "a driver whose statistics are known"
    )
    tier: ClassVar[Tier] = Tier.MEDIUM
    background: ClassVar[bool] = True
    metrics: ClassVar[tuple[Metric, ...]] = METRICS

    def __init__(self, ioctl: Ioctl = fcntl.ioctl) -> None:
        self._ioctl = ioctl
        self._watch: HardwareWatch | None = None
        self._ethtool: Ethtool | None = None
        self._nics: list[_Nic] = []
        self._silent: list[str] = []

    def open(self, host: Host) -> Sequence[Slot]:
        self.close()
        if not host.live and self._ioctl is fcntl.ioctl:
            raise NoDataError(
                "drivers of a captured tree cannot be asked for their statistics", "not supported"
            )
        self._watch, self._ethtool = HardwareWatch(host), Ethtool(self._ioctl)
        for interface in self._watch.hardware[: host.device_limit]:
            self._add(interface, self._ethtool)
        if not self._nics:
            self.close()
            raise NoDataError("no network driver here keeps statistics that are known", "not supported")
        return [
            Slot("network", nic.interface, one.metric, LIVE, f"ethtool -S {nic.interface}")
            for nic in self._nics
            for one in nic.chosen
        ]

    def read(self, out: Values) -> bool:
        if self._watch is None or self._ethtool is None or self._watch.changed():
            return False
        start = 0
        for nic in self._nics:
            try:
                values = self._ethtool.values(nic.interface, nic.count)
            except OSError:
                pass
            else:
                if len(values) != nic.count:
                    return False
                out[start : start + len(nic.chosen)] = nic.fold(values)
            start += len(nic.chosen)
        return True

    def absent(self) -> Sequence[tuple[str, str, str]]:
        return [(f"driver's statistics of {name}", "not supported", "") for name in self._silent]

    def close(self) -> None:
        if self._ethtool is not None:
            self._ethtool.close()
            self._ethtool = None
        self._nics, self._silent = [], []

    def _add(self, interface: str, ethtool: Ethtool) -> None:
        try:
            nic = _Nic(interface, ethtool)
        except OSError:
            self._silent.append(interface)
            return
        if nic.chosen:
            self._nics.append(nic)
        else:
            self._silent.append(interface)
