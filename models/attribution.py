"""How much of an episode each channel explains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Self

import msgspec
import numpy as np

from hostsight.channel import Channel
from models.protocol import Floats

Direction = Literal["high", "low", "changed"]

FAMILIAR = frozenset(
    {
        "busy_percent",
        "used_percent",
        "available_bytes",
        "read_bytes_per_s",
        "write_bytes_per_s",
        "rx_bytes_per_s",
        "tx_bytes_per_s",
    }
)
"""What people look for first: one of these names an episode where it stands out nearly as much as the strongest channel."""

_NEARLY = 0.5
_KIN = 0.2
_FULL = 100.0
_MOST = 50
_TOP = 3


class Attribution(msgspec.Struct, frozen=True, kw_only=True):
    """One channel's share of an episode; `expected` and `actual` are its level (mean) in `unit`, `actual` None where it has none.

    deviation: how many steps of its baseline the level is away.  represented_by: the label of the channel that stands for
    this one in the model, empty where it is in the model itself.  words: what is unlike, where the levels do not say it.
    """

    channel_id: int
    subsystem: str
    device: str
    metric: str
    share: float
    expected: float
    actual: float | None
    unit: str
    direction: Direction
    deviation: float
    represented_by: str = ""
    words: str = ""

    @classmethod
    def of(  # noqa: PLR0913  # facts by name
        cls,
        channel: Channel,
        *,
        share: float,
        expected: float,
        actual: float | None,
        deviation: float,
        represented_by: str = "",
        words: str = "",
    ) -> Self:
        """Of a channel, in the direction of its deviation."""
        return cls(
            channel_id=channel.id,
            subsystem=channel.subsystem,
            device=channel.device,
            metric=channel.metric,
            share=share,
            expected=expected,
            actual=actual,
            unit=channel.unit,
            direction=direction(deviation),
            deviation=deviation,
            represented_by=represented_by,
            words=words,
        )


def contributions(steps: Floats) -> Floats:
    """[windows, channels, features] steps from usual -> [windows, channels]: the mean squared step.

    Beyond 100 it grows by the logarithm, so no channel wins by its unit alone, and none is tied with another.
    """
    squared = np.square(steps)
    beyond = _FULL * (1 + np.log(np.maximum(squared, _FULL) / _FULL))
    return np.asarray(np.where(squared > _FULL, beyond, squared).mean(axis=-1))


def direction(deviation: float) -> Direction:
    """`changed` where the level is as usual and something else about the channel is not."""
    if abs(deviation) < 1:
        return "changed"
    return "high" if deviation > 0 else "low"


def most(attributions: Sequence[Attribution]) -> tuple[Attribution, ...]:
    """The largest shares, descending, scaled to sum to 1."""
    ordered = sorted(attributions, key=lambda item: (-item.share, item.channel_id))[:_MOST]
    total = sum(item.share for item in ordered)
    if total <= 0:
        return ()
    return tuple(msgspec.structs.replace(item, share=item.share / total) for item in ordered)


def blend(
    earlier: Sequence[Attribution], earlier_weight: float, later: Sequence[Attribution], later_weight: float
) -> tuple[Attribution, ...]:
    """Shares and levels averaged by weight; a channel that only one side names keeps that side's level."""
    part = later_weight / (earlier_weight + later_weight)
    merged = {
        item.channel_id: msgspec.structs.replace(item, share=item.share * (1 - part)) for item in earlier
    }
    for item in later:
        before = merged.get(item.channel_id)
        new = msgspec.structs.replace(item, share=item.share * part)
        merged[item.channel_id] = new if before is None else _averaged(before, new, part)
    return most(list(merged.values()))


def _averaged(before: Attribution, after: Attribution, part: float) -> Attribution:
    """Shares are weighted already, levels are not; what is expected is the later's, from the newer model."""
    if before.actual is None or after.actual is None or before.words or after.words:
        return msgspec.structs.replace(after, share=before.share + after.share)
    deviation = before.deviation * (1 - part) + after.deviation * part
    return msgspec.structs.replace(
        after,
        share=before.share + after.share,
        actual=before.actual * (1 - part) + after.actual * part,
        deviation=deviation,
        direction=direction(deviation),
    )


def headline(attributions: Sequence[Attribution]) -> Attribution:
    """The channel an episode is named after: first the subsystem, then the device in it, then the metric.

    A subsystem or device is ranked by the mean of its top three channels: a sum favours the one with most channels.
    """
    within = _strongest(attributions, lambda item: item.subsystem)
    within = _strongest(within, lambda item: item.device)
    strongest = max(within, key=_telling)
    near = [item for item in within if item.share >= _NEARLY * strongest.share and item.metric in FAMILIAR]
    return max([item for item in near if item.direction != "changed"], key=_telling, default=strongest)


def akin(one: Sequence[Attribution], other: Sequence[Attribution]) -> bool:
    """Whether both may have one cause: the subsystem that either is named after has a fifth of the other at least."""
    if not one or not other:
        return True
    return (
        max(
            _part(other, headline(one).subsystem),
            _part(one, headline(other).subsystem),
        )
        >= _KIN
    )


def _part(attributions: Sequence[Attribution], subsystem: str) -> float:
    return sum(item.share for item in attributions if item.subsystem == subsystem)


def _telling(item: Attribution) -> tuple[bool, float]:
    return item.direction != "changed", item.share


def _strongest(
    attributions: Sequence[Attribution], key: Callable[[Attribution], str]
) -> Sequence[Attribution]:
    groups: dict[str, list[Attribution]] = {}
    for item in attributions:
        groups.setdefault(key(item), []).append(item)
    return max(groups.values(), key=_rank)


def _rank(group: Sequence[Attribution]) -> float:
    shares = sorted((item.share for item in group), reverse=True)[:_TOP]
    return sum(shares) / _TOP
