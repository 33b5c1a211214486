"""What came of a refit, kept with its model: the comparison that decided, and how normal has changed since the model before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from hostsight.channel import Channel
from models.baseline import Baseline
from models.scaling import MEAN

SHOWN = 20
"""So many channels are named in each list; `drifted` counts them all."""

_DRIFTED = 1.0
"""A channel has drifted when its usual level is so many steps of the earlier model away."""


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """A channel's usual level in the earlier model and in this one, in `unit`; steps: of the earlier model, signed."""

    subsystem: str
    device: str
    metric: str
    unit: str
    before: float
    after: float
    steps: float


class RefitReport(msgspec.Struct, frozen=True, kw_only=True):
    """held_back: how many of the newest windows a model of the rest was tried on; flagged, live_flagged: what share of
    them that one, and the model that was live, call anomalous.  quarantined: windows of episodes that were left out.

    compared_with: the model that was live; None, and nothing to compare, for the first. appeared, vanished: labels of
    channels that only this model, or only the earlier one, knows.
    """

    quarantined: int
    compared_with: str | None = None
    held_back: int = 0
    flagged: float = 0.0
    live_flagged: float | None = None
    drifted: int = 0
    drift: tuple[Drift, ...] = ()
    appeared: tuple[str, ...] = ()
    vanished: tuple[str, ...] = ()


def with_drift(report: RefitReport, before: Baseline, after: Baseline) -> RefitReport:
    """`report` with how `after` differs from `before`: the largest drifts first."""
    old, new = _levels(before), _levels(after)
    found = sorted(
        (_drift(known, old[channel], level) for channel, (known, level, _) in new.items() if channel in old),
        key=lambda each: -abs(each.steps),
    )
    found = [each for each in found if abs(each.steps) >= _DRIFTED]
    return msgspec.structs.replace(
        report,
        drifted=len(found),
        drift=tuple(found[:SHOWN]),
        appeared=_labels([new[channel][0] for channel in new.keys() - old.keys()]),
        vanished=_labels([old[channel][0] for channel in old.keys() - new.keys()]),
    )


def _levels(baseline: Baseline) -> Mapping[int, tuple[Channel, float, float]]:
    """By id: the channel, its usual level and its step; channels without any value in training have no level."""
    centre, step = baseline.scaler.centre[:, MEAN], baseline.scaler.step[:, MEAN]
    return {
        channel.id: (channel, float(centre[index]), float(step[index]))
        for index, channel in enumerate(baseline.channels)
        if baseline.steady[index] > 0 and np.isfinite(centre[index])
    }


def _drift(channel: Channel, before: tuple[Channel, float, float], level: float) -> Drift:
    _, old, step = before
    return Drift(
        subsystem=channel.subsystem,
        device=channel.device,
        metric=channel.metric,
        unit=channel.unit,
        before=old,
        after=level,
        steps=(level - old) / step,
    )


def _labels(channels: Sequence[Channel]) -> tuple[str, ...]:
    return tuple(sorted(channel.label for channel in channels))[:SHOWN]
