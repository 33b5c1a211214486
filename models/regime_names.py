"""What sets regimes apart, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hostsight.channel import WHOLE_HOST, Channel
from hostsight.quantity import quantity
from models.attribution import FAMILIAR
from models.protocol import Floats
from models.scaling import MEAN, Scaler
from models.wording import metric

_NEARLY = 0.5
"""A familiar channel of the whole host names regimes where it tells them apart so well as the best one."""


def names(
    places: Floats, whole: Scaler, own: Sequence[Scaler], channels: Sequence[Channel]
) -> tuple[str, ...]:
    """One a regime, such as `cpu busy 95 %`: the level of the channel that tells them apart best.

    places: [regimes, channels], in steps of `whole`.
    """
    apart = np.array([_apart(column) for column in places.T])
    familiar = np.array([each.device == WHOLE_HOST and each.metric in FAMILIAR for each in channels])
    telling = np.where(familiar, apart / _NEARLY, apart)
    chosen = int(telling.argmax())
    return tuple(_name(channels[chosen], float(scaler.centre[chosen, MEAN])) for scaler in own)


def _apart(levels: Floats) -> float:
    """How far the two regimes are apart that are least so."""
    return float(np.diff(np.sort(levels)).min())


def _name(channel: Channel, level: float) -> str:
    words = [channel.subsystem] if channel.device == WHOLE_HOST else [channel.subsystem, channel.device]
    name = metric(channel.metric).removeprefix(f"{channel.subsystem} ")
    return " ".join((*words, name, quantity(level, channel.unit)))
