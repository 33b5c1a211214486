"""Traffic, errors and drops of network interfaces, from /proc/net/dev; Documentation/networking/statistics.rst.

Left out: `lo`, whose traffic never leaves the host, and the host's ends of containers' and virtual machines' links
(`veth`, `tap`, `cali` ...), whose traffic also passes a real interface. Interfaces of real hardware come first, then
bridges, bonds, VLANs and tunnels, the busiest first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from hostsight.channel import Subsystem
from ingest.collector import Host, Metric, Origin
from ingest.collectors.devices import Choice, DeviceCollector, busy, device_name
from ingest.collectors.interfaces import is_hardware
from ingest.collectors.words import Words

_LEFT_OUT = re.compile(r"lo|(?:veth|tap|vnet|ifb|dummy|cali|lxc|fwpr|fwln|fwbr|nodelocaldns|kube-ipvs).*")


def _rate(name: str, unit: str, meaning: str) -> Metric:
    return Metric(f"{name}_per_s", f"{unit}/s", "rate", meaning)


_METRICS: dict[str, Metric] = {
    "rx bytes": _rate("rx_bytes", "B", "bytes received"),
    "rx packets": _rate("rx_packets", "packets", "packets received"),
    "rx errs": _rate("rx_error_packets", "errors", "bad packets received, of all kinds"),
    "rx drop": _rate("rx_dropped_packets", "drops", "packets received that nobody wanted or had room for"),
    "rx fifo": _rate("rx_overrun_packets", "drops", "packets lost as the card's buffer was full"),
    "rx frame": _rate("rx_frame_error_packets", "errors", "packets received with a bad length or checksum"),
    "rx multicast": _rate("rx_multicast_packets", "packets", "multicast packets received"),
    "tx bytes": _rate("tx_bytes", "B", "bytes sent"),
    "tx packets": _rate("tx_packets", "packets", "packets sent"),
    "tx errs": _rate("tx_error_packets", "errors", "packets that could not be sent, of all kinds"),
    "tx drop": _rate("tx_dropped_packets", "drops", "packets to be sent that were dropped"),
    "tx fifo": _rate("tx_underrun_packets", "errors", "packets lost as the card ran out of data"),
    "tx colls": _rate("tx_collisions", "errors", "collisions"),
    "tx carrier": _rate("tx_carrier_errors", "errors", "packets lost for want of a link"),
}


class NetworkCollector(DeviceCollector):
    name: ClassVar[str] = "network"
    origin: ClassVar[Origin] = Origin("/proc/net/dev", 0.001)
    metrics: ClassVar[tuple[Metric, ...]] = tuple(_METRICS.values())
    subsystem: ClassVar[Subsystem] = "network"
    path: ClassVar[str] = "/proc/net/dev"

    def columns(self, lines: Sequence[bytes]) -> Sequence[Metric | None]:
        """From the header ` face |bytes packets ...|bytes packets ...`."""
        header = next((line for line in lines if line.count(b"|") == 2 and b"bytes" in line), b"||")
        _, received, sent = header.decode("ascii", "replace").split("|")
        names = [f"rx {word}" for word in received.split()] + [f"tx {word}" for word in sent.split()]
        return [_METRICS.get(name) for name in names]

    def split(self, line: bytes) -> tuple[str, Words]:
        name, _, rest = line.rpartition(b":")
        return device_name(name.strip()), rest.split()

    def choose(self, host: Host, found: Mapping[str, Words]) -> Choice:
        amounts = {name: busy(words) for name, words in found.items() if not _LEFT_OUT.fullmatch(name)}
        active = [name for name, amount in amounts.items() if amount]
        active.sort(key=lambda name: (not is_hardware(host, name), -amounts[name]))
        return Choice(tuple(active), tuple(name for name, amount in amounts.items() if not amount))
