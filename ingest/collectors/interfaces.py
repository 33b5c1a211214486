"""Which network interfaces are real hardware, and whether those are still the same."""

from __future__ import annotations

from ingest.collector import Host
from ingest.collectors.smallfiles import is_link, names_in

INTERFACES = "/sys/class/net"


def is_hardware(host: Host, interface: str) -> bool:
    """Whether a device, and not software alone, stands behind the interface."""
    return is_link(host.path(INTERFACES, interface, "device"))


class HardwareWatch:
    """Notices interfaces of real hardware that come, go or are renamed; those of containers come and go all the time."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._folder = str(host.path(INTERFACES))
        self._names = names_in(self._folder)
        self.hardware = self._hardware()

    def changed(self) -> bool:
        """Whether `hardware` is out of date."""
        names = names_in(self._folder)
        if names == self._names:
            return False
        self._names = names
        return self._hardware() != self.hardware

    def _hardware(self) -> list[str]:
        return [name for name in self._names if is_hardware(self._host, name)]
