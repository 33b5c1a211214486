"""What a channel is, by its name alone: for fields that something other than a hostsight agent wrote."""

from __future__ import annotations

from typing import cast

from hostsight.channel import Channel, Kind, Subsystem

_UNITS = (
    ("_bytes_per_s", "B/s"),
    ("_seconds_per_s", "s/s"),
    ("_per_s", "1/s"),
    ("_percent", "%"),
    ("_bytes", "B"),
    ("_seconds", "s"),
    ("_hertz", "Hz"),
    ("_celsius", "°C"),
    ("_watts", "W"),
)


def guessed_channel(host: str, subsystem: str, device: str, metric: str) -> Channel:
    """Names end in the unit: `rx_bytes_per_s` is a rate in B/s."""
    unit = next((unit for ending, unit in _UNITS if metric.endswith(ending)), "")
    kind: Kind = "rate" if metric.endswith("_per_s") else "gauge"
    return Channel(host, cast(Subsystem, subsystem), device, metric, kind, unit, 1.0, "influx")
