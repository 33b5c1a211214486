"""The smallest deviation that matters to a person, by unit: below it nothing alarms, however regular training was.

A quiet host repeats itself to many digits, so a deviation of fifty standard deviations may be half a percent of one CPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hostsight.channel import Channel


@dataclass(frozen=True, slots=True)
class Effect:
    """A deviation matters from `absolute` (in the channel's unit) or `relative` (of its usual level), whichever is more."""

    absolute: float
    relative: float

    def at(self, level: float) -> float:
        return max(self.absolute, self.relative * abs(level))


EFFECTS: Mapping[str, Effect] = {
    "percent": Effect(10.0, 0.1),
    "ratio": Effect(0.1, 0.2),
    "bytes": Effect(256e6, 0.1),
    "bytes/s": Effect(5e6, 0.5),
    "seconds": Effect(0.01, 0.5),
    "seconds/s": Effect(0.1, 0.1),
    "hertz": Effect(200e6, 0.1),
    "celsius": Effect(8.0, 0.1),
    "watts": Effect(20.0, 0.2),
    "joules/s": Effect(20.0, 0.2),
    "volts": Effect(0.1, 0.1),
    "pages": Effect(65_536, 0.1),
    "pages/s": Effect(2_000, 0.5),
    "faults/s": Effect(5_000, 0.5),
    "interrupts/s": Effect(2_000, 0.5),
    "switches/s": Effect(5_000, 0.5),
    "packets/s": Effect(2_000, 0.5),
    "operations/s": Effect(200, 0.5),
    "requests/s": Effect(200, 0.5),
    "errors/s": Effect(1.0, 0.5),
    "drops/s": Effect(1.0, 0.5),
    "count": Effect(4.0, 0.5),
    "count/s": Effect(1_000, 0.5),
}
"""Unit -> effect. Adding a unit is a line here; one that is not here takes the default of its form."""

_AMOUNT = Effect(4.0, 0.5)
_RATE = Effect(1_000, 0.5)


def effect(channel: Channel) -> Effect:
    """The channel's smallest deviation that matters."""
    known = EFFECTS.get(channel.unit)
    if known is not None:
        return known
    return _RATE if channel.unit.endswith("/s") or channel.kind == "rate" else _AMOUNT
