"""Sockets by protocol and the memory they hold, from /proc/net/sockstat and sockstat6."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ingest.collector import Host, Metric, Origin, Tier
from ingest.collectors.pages import PAGE_BYTES, in_pages_of
from ingest.collectors.tables import Field, Source, TableCollector
from ingest.collectors.wordtable import PAIRS


def _sockets(key: bytes, name: str, meaning: str) -> Field:
    return Field(key, "network", Metric(f"{name}_sockets", "sockets", "gauge", meaning))


def _memory(key: bytes, name: str, meaning: str, scale: float = PAGE_BYTES) -> Field:
    return Field(key, "network", Metric(f"{name}_memory_bytes", "B", "gauge", meaning, scale=scale))


_FIELDS = (
    _sockets(b"sockets.used", "used", "sockets of all kinds"),
    _sockets(b"TCP.inuse", "tcp", "TCP sockets over IPv4 that are bound or connected"),
    _sockets(b"TCP.orphan", "tcp_orphan", "TCP sockets that no process holds any more"),
    _sockets(b"TCP.tw", "tcp_time_wait", "TCP connections in TIME-WAIT"),
    _sockets(b"TCP.alloc", "tcp_allocated", "TCP sockets allocated, IPv6 included"),
    _memory(b"TCP.mem", "tcp", "memory of TCP's buffers"),
    _sockets(b"UDP.inuse", "udp", "UDP sockets over IPv4"),
    _memory(b"UDP.mem", "udp", "memory of UDP's buffers"),
    _sockets(b"RAW.inuse", "raw", "raw sockets over IPv4"),
    _memory(b"FRAG.memory", "reassembly", "memory of IPv4 fragments that wait for the rest", scale=1.0),
)
_FIELDS_6 = (
    _sockets(b"TCP6.inuse", "tcp6", "TCP sockets over IPv6 that are bound or connected"),
    _sockets(b"UDP6.inuse", "udp6", "UDP sockets over IPv6"),
    _sockets(b"RAW6.inuse", "raw6", "raw sockets over IPv6"),
    _memory(b"FRAG6.memory", "reassembly6", "memory of IPv6 fragments that wait for the rest", scale=1.0),
)


class SockstatCollector(TableCollector):
    name: ClassVar[str] = "sockstat"
    origin: ClassVar[Origin] = Origin("/proc/net/sockstat, /proc/net/sockstat6", 0.001)
    tier: ClassVar[Tier] = Tier.FAST
    metrics: ClassVar[tuple[Metric, ...]] = tuple(field.metric for field in (*_FIELDS, *_FIELDS_6))

    def sources(self, host: Host) -> Sequence[Source]:
        return [
            Source("/proc/net/sockstat", PAIRS, in_pages_of(host, _FIELDS)),
            Source("/proc/net/sockstat6", PAIRS, _FIELDS_6, remedy="modprobe ipv6"),
        ]
