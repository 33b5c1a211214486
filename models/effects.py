"""The smallest deviation that matters to a person, by unit: below it nothing alarms, however regular training was.

A quiet host repeats itself to many digits, so a deviation of fifty standard deviations may be half a percent of one CPU.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hostsight.channel import Channel
from models.protocol import Floats


@dataclass(frozen=True, slots=True)
class Effect:
    """A deviation matters from `absolute` (in the channel's unit) or `relative` (of its usual level), whichever is more."""

    absolute: float
    relative: float

    def at(self, level: float) -> float:
        return max(self.absolute, self.relative * abs(level))


EFFECTS: Mapping[str, Effect] = {
    "%": Effect(10.0, 0.1),
    "ratio": Effect(0.2, 0.2),
    "B": Effect(256e6, 0.1),
    "B/s": Effect(10e6, 0.5),
    "s": Effect(0.01, 0.5),
    "s/s": Effect(0.3, 0.3),
    "Hz": Effect(200e6, 0.1),
    "°C": Effect(8.0, 0.1),
    "W": Effect(20.0, 0.2),
    "V": Effect(0.1, 0.1),
    "A": Effect(2.0, 0.2),
    "rpm": Effect(1_000, 0.2),
    "lanes": Effect(1.0, 0.0),
    "transfers/s": Effect(1e9, 0.1),
    "pages": Effect(64, 0.1),
    "pages/s": Effect(5_000, 0.5),
    "events/s": Effect(2_000, 0.5),
    "interrupts/s": Effect(5_000, 0.5),
    "switches/s": Effect(5_000, 0.5),
    "cycles/s": Effect(2e8, 0.3),
    "instructions/s": Effect(2e8, 0.3),
    "branches/s": Effect(5e7, 0.3),
    "references/s": Effect(2e7, 0.5),
    "misses/s": Effect(5e6, 0.5),
    "walks/s": Effect(1e6, 0.5),
    "faults/s": Effect(20_000, 0.5),
    "migrations/s": Effect(500, 0.5),
    "forks/s": Effect(200, 0.5),
    "packets": Effect(100, 0.5),
    "packets/s": Effect(5_000, 0.5),
    "segments/s": Effect(5_000, 0.5),
    "requests": Effect(16, 0.5),
    "requests/s": Effect(200, 0.5),
    "errors/s": Effect(5.0, 1.0),
    "drops/s": Effect(5.0, 1.0),
    "retransmits/s": Effect(20.0, 1.0),
    "stalls/s": Effect(100, 1.0),
    "sockets": Effect(100, 0.5),
    "connections": Effect(100, 0.5),
    "descriptors": Effect(1_000, 0.5),
    "tasks": Effect(8.0, 0.5),
    "devices": Effect(0.5, 0.0),
    "1": Effect(4.0, 0.5),
    "1/s": Effect(2_000, 0.5),
}
"""Unit -> effect. Adding a unit is a line here; one that is not here takes the default of its form."""

METRICS: tuple[tuple[re.Pattern[str], Effect], ...] = (
    (re.compile("^device_(present|lost)$"), Effect(0.5, 0.0)),
    (re.compile("out_of_memory|machine_check|uncorrect"), Effect(0.3, 1.0)),
    (re.compile("^(compaction|huge|migration)_"), Effect(2_000, 0.5)),
    (re.compile("page_faults_per"), Effect(20_000, 0.5)),
    (re.compile("throttle"), Effect(5.0, 1.0)),
)
"""Rates whose name says more than their unit does; the first match holds."""

_STATE = Effect(0.5, 0.0)
_AMOUNT = Effect(4.0, 0.5)
_RATE = Effect(1_000, 0.5)
_SHARE_OF_MEMORY = 0.05


def effect(channel: Channel) -> Effect:
    """What is set down for the channel's metric, or else for its unit; a state matters as soon as it is another."""
    if channel.kind == "state":
        return _STATE
    rate = channel.unit.endswith("/s")
    named = (known for pattern, known in METRICS if rate and pattern.search(channel.metric))
    return next(named, None) or EFFECTS.get(channel.unit) or (_RATE if rate else _AMOUNT)


def smallest_effects(channels: Sequence[Channel], levels: Floats) -> Floats:
    """[channels]: the smallest deviation of each that matters, at these usual levels.

    An amount of memory matters from a twentieth of the host's memory, which is the largest amount there is.
    """
    effects = np.array(
        [effect(channel).at(level) for channel, level in zip(channels, levels, strict=True)], np.float64
    )
    amounts = np.array([channel.subsystem == "memory" and channel.unit == "B" for channel in channels], bool)
    if amounts.any():
        effects[amounts] = np.maximum(effects[amounts], _SHARE_OF_MEMORY * levels[amounts].max())
    return effects
