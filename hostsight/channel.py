"""Channel identity: which time series a value belongs to.

A channel's id is a stable hash of (host, subsystem, device, metric): agents need no coordination.
It has 63 bits, so it is a positive signed integer everywhere, and a string in JSON.
"""

from __future__ import annotations

from _blake2 import blake2b  # hashlib loads all of OpenSSL, 3 MB of the agent
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

Kind = Literal["rate", "gauge", "state", "event"]
Subsystem = Literal["cpu", "gpu", "memory", "interconnect", "network", "storage", "agent"]

KINDS: tuple[str, ...] = get_args(Kind)
SUBSYSTEMS: tuple[str, ...] = get_args(Subsystem)
WHOLE_HOST = "host"
"""The device of a channel that describes the host as a whole."""


@lru_cache(maxsize=65_536)
def channel_id(host: str, subsystem: str, device: str, metric: str) -> int:
    """63-bit id; the four parts are length-prefixed, so no two different channels share a text."""
    text = "".join(f"{len(part)}:{part}" for part in (host, subsystem, device, metric))
    digest = blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


@dataclass(frozen=True, slots=True)
class Channel:
    """One time series. `period_seconds` is the native period: how often the source itself changes."""

    host: str
    subsystem: Subsystem
    device: str
    metric: str
    kind: Kind
    unit: str
    period_seconds: float
    source: str

    @property
    def id(self) -> int:
        return channel_id(self.host, self.subsystem, self.device, self.metric)

    @property
    def label(self) -> str:
        """`network eth0 rx_bytes_per_s`, as shown to people."""
        device = "" if self.device == WHOLE_HOST else f"{self.device} "
        return f"{self.subsystem} {device}{self.metric}"
