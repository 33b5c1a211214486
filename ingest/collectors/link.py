"""Speed and state of network links, from /sys/class/net; Documentation/ABI/testing/sysfs-class-net.

Asking a driver for its speed takes the kernel's network lock and may wait, so this is read in the background.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from hostsight.errors import NoDataError
from ingest.collector import Host, Metric, Origin, Slot, Tier, Values
from ingest.collectors.interfaces import INTERFACES, HardwareWatch, is_hardware
from ingest.collectors.pci import ADDRESS
from ingest.collectors.smallfiles import is_there
from ingest.collectors.sysclass import class_devices
from ingest.collectors.tables import LIVE
from ingest.collectors.words import number
from ingest.kept_file import KeptFile

_BYTES_OF_MEGABITS = 125_000.0
_UNKNOWN = 2**32 - 1
_FILES: dict[str, Metric] = {
    "carrier": Metric("link_up", "1", "state", "1 where the link is up, 0 where it is down"),
    "speed": Metric(
        "link_speed_bytes_per_s",
        "B/s",
        "gauge",
        "what the link can carry one way, as negotiated",
        scale=_BYTES_OF_MEGABITS,
    ),
    "carrier_changes": Metric("link_changes_per_s", "errors/s", "rate", "times the link went up or down"),
    "statistics/rx_missed_errors": Metric(
        "rx_missed_packets_per_s",
        "drops/s",
        "rate",
        "packets that the adapter dropped for lack of buffers in the host",
    ),
    "statistics/rx_crc_errors": Metric(
        "rx_crc_errors_per_s", "errors/s", "rate", "packets with a wrong checksum: a bad cable, plug or optic"
    ),
}


class LinkCollector:
    name: ClassVar[str] = "link"
    origin: ClassVar[Origin] = Origin(
        "/sys/class/net/*/carrier, speed, carrier_changes", 0.001, "an interface of real hardware"
    )
    tier: ClassVar[Tier] = Tier.MEDIUM
    background: ClassVar[bool] = True
    metrics: ClassVar[tuple[Metric, ...]] = tuple(_FILES.values())

    def __init__(self) -> None:
        self._files: list[KeptFile] = []
        self._watch: HardwareWatch | None = None

    def open(self, host: Host) -> Sequence[Slot]:
        self.close()
        slots = list(_slots(host))[: host.device_limit * len(_FILES)]
        if not slots:
            raise NoDataError(f"{INTERFACES} shows no hardware interface")
        self._files = [KeptFile(host.path(slot.source)) for slot in slots]
        self._watch = HardwareWatch(host)
        return slots

    def read(self, out: Values) -> bool:
        if self._watch is None or self._watch.changed():
            return False
        out[:] = [_value(file) for file in self._files]
        return True

    def absent(self) -> Sequence[tuple[str, str, str]]:
        return ()

    def close(self) -> None:
        for file in self._files:
            file.close()
        self._files = []


def _slots(host: Host) -> Iterator[Slot]:
    """Interfaces of real hardware; a captured tree may show them below their PCI device alone."""
    for folder in class_devices(host, "net"):
        if is_hardware(host, folder.name) or ADDRESS.fullmatch(folder.parent.parent.name):
            for file, metric in _FILES.items():
                if is_there(folder / file):
                    source = f"/{folder.relative_to(host.root)}/{file}"
                    yield Slot("network", folder.name, metric, LIVE, source)


def _value(file: KeptFile) -> float:
    """An interface that is down gives an error or a speed of -1, unsigned before Linux 4.12: absent."""
    try:
        value = number(file.read())
    except OSError:
        return np.nan
    return value if 0 <= value < _UNKNOWN else np.nan
