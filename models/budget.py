"""How high a score must be, so that healthy telemetry costs no more episodes than an operator is willing to look at.

The budget is a ceiling: it only raises the level, so a host on which nothing happens shows nothing.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from hostsight.clock import SECOND_NS
from hostsight.settings import DetectSettings, Duration
from models.calibration import Tail
from models.layout import DAY_NS
from models.protocol import Floats

_LIVE_STRIDE_NS = SECOND_NS
"""Rules that count windows are written for strides of a second."""
_CLOSE_WINDOWS = 10
_MERGE_WINDOWS = 20
_COUNTED = 3.0
"""The budget alone decides where it allows so many episodes in training: fewer are chance."""
_SHARES = np.geomspace(1e-4, 0.05, 40)
"""Shares of training beyond the levels that are tried."""


def persistence(settings: DetectSettings, stride_ns: int) -> DetectSettings:
    """The rules for windows that far apart: persistence is a matter of time, with a floor in windows.

    What takes six of eight windows a second apart takes two of three a minute apart, or one that is extreme; and an episode
    lasts until ten windows, and is continued within twenty, however long they are.
    """
    scale = _LIVE_STRIDE_NS / stride_ns
    if scale >= 1:
        return settings
    hits = min(settings.open_hits, max(2, round(settings.open_hits * scale)))
    return replace(
        settings,
        open_hits=hits,
        open_of=min(settings.open_of, max(hits + 1, round(settings.open_of * scale))),
        open_extreme=max(1, round(settings.open_extreme * scale)),
        close_after=Duration(max(settings.close_after, _CLOSE_WINDOWS * stride_ns / SECOND_NS)),
        merge_gap=Duration(max(settings.merge_gap, _MERGE_WINDOWS * stride_ns / SECOND_NS)),
    )


def alarm_threshold(tail: Tail, level: float, ends: NDArray[np.int64], settings: DetectSettings) -> float:
    """The tail probability from which a window is anomalous: that of `level`, and where training (of windows with these ends)
    is too short to count episodes by, beyond `[detect] percentile` too.
    """
    quiet = float(tail.probability(np.array([level]))[0])
    if allowed_episodes(ends, settings) >= _COUNTED:
        return quiet
    return min(quiet, 1 - settings.percentile / 100)


def allowed_episodes(ends: NDArray[np.int64], settings: DetectSettings) -> float:
    """How many episodes windows with these ends may cost, in the time they stand for: a gap counts as two strides."""
    gaps = np.diff(ends)
    covered_ns = np.minimum(gaps, 2 * np.median(gaps)).sum()
    return settings.alert_budget * float(covered_ns) / DAY_NS


def quiet_level(scores: Floats, ends: NDArray[np.int64], settings: DetectSettings) -> float:
    """The lowest level at which healthy windows open at most `[detect] alert_budget` episodes a day.

    scores: of windows that the model was not fitted to, ascending by `ends`.
    """
    stride_ns = int(np.median(np.diff(ends)))
    rules = persistence(settings, stride_ns)
    allowed = allowed_episodes(ends, settings)
    level = float(scores.max())
    for candidate in np.quantile(scores, 1 - _SHARES).tolist():
        if count_episodes(ends[scores > candidate], rules, stride_ns) > allowed:
            break
        level = candidate
    return level


def count_episodes(hits: NDArray[np.int64], rules: DetectSettings, stride_ns: int) -> int:
    """How many episodes windows that end at `hits` (ascending) open, none of them extreme."""
    count, last = 0, None
    recent: list[int] = []
    for end_ns in hits.tolist():
        if last is not None and end_ns - last <= rules.close_after.ns:
            last = end_ns
            continue
        recent = [each for each in recent if each > end_ns - rules.open_of * stride_ns] + [end_ns]
        if len(recent) >= rules.open_hits:
            merged = last is not None and end_ns - last <= rules.close_after.ns + rules.merge_gap.ns
            count += not merged
            last, recent = end_ns, []
    return count
