"""Which features a block of windows carries: statistics of windows of several lengths, and the difference to other days."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hostsight.clock import SECOND_NS
from hostsight.settings import Duration, WindowSettings
from sql.schemas import FEATURE_NAMES

DAY_NS = 86_400 * SECOND_NS
DAYS = 7
"""So many days before are what a window is compared with at the same time of."""
SCALES = (1, 5, 15)
"""Windows that models look at, in lengths of the shortest; each is a multiple of the one before it."""

_STRETCHES = 100
"""A scale is used where training holds so many stretches of it: fewer do not say what is usual."""
_DAILY_STRIDE_NS = 30 * SECOND_NS
_DAILY_DAYS = 3
"""What is usual at a time of day needs so many days, and strides that let a week of them be kept."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns of `WindowBlock.values`: for each of `scales` the five features, then `daily` where there is one.

    scales: in lengths of `window`, the first is 1.
    daily: the mean of the second scale less the same at this time of the last seven days.
    """

    window: WindowSettings = field(default_factory=WindowSettings)
    scales: tuple[int, ...] = (1,)
    daily: bool = False

    @property
    def width(self) -> int:
        return len(self.scales) * len(FEATURE_NAMES) + self.daily

    @property
    def single(self) -> bool:
        """Whether the shortest window is one sample or pane, which has a level alone."""
        return self.window.length.ns == self.window.pane.ns

    @property
    def longest_ns(self) -> int:
        """How far back the longest window reaches, beyond the shortest."""
        return (self.scales[-1] - 1) * self.window.length.ns

    @property
    def lead_ns(self) -> int:
        """How far back the features of a window reach, beyond that window itself."""
        return self.longest_ns + DAYS * DAY_NS if self.daily else max(self.longest_ns, self.switch_ns)

    @property
    def switch_ns(self) -> int:
        """How far back a switch between two regimes is looked for: twice the longest window, which may lie across one."""
        return 0 if len(self.scales) == 1 else 2 * (self.scales[-1] + 1) * self.window.length.ns

    def columns(self, name: str) -> NDArray[np.intp]:
        """The positions of a feature, one a scale."""
        first = FEATURE_NAMES.index(name)
        return np.arange(first, len(self.scales) * len(FEATURE_NAMES), len(FEATURE_NAMES))

    def seconds(self) -> NDArray[np.float64]:
        """[width]: how long a time each column describes."""
        length = float(self.window.length)
        each = np.repeat(np.array(self.scales, np.float64) * length, len(FEATURE_NAMES))
        return np.append(each, [self.scales[min(1, len(self.scales) - 1)] * length] * self.daily)

    @property
    def short_scale(self) -> int:
        """The shortest window that has a spread."""
        return self.scales[self._short]

    @property
    def _short(self) -> int:
        return 1 if self.single and len(self.scales) > 1 else 0

    def short(self) -> NDArray[np.intp]:
        """The shortest windows that have a spread: what tells soonest."""
        return self.scale(self._short)

    def telling(self) -> NDArray[np.intp]:
        """What tells which channel is to blame: the level now, and the spread in the shortest windows that have one."""
        return np.array([self.columns("mean")[0], self.columns("std")[self._short]], np.intp)

    def usual(self) -> NDArray[np.intp]:
        """Every scale, and the difference to other days."""
        parts = [self.scale(index) for index in range(len(self.scales))]
        return np.concatenate([*parts, np.arange(self.width - self.daily, self.width)])

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        window = (self.window.pane, self.window.length, self.window.stride)
        return {
            "window": np.array(window, np.float64),
            "scales": np.array(self.scales, np.int64),
            "daily": np.array([self.daily]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        pane, length, stride = (Duration(value) for value in arrays["window"].tolist())
        scales = tuple(int(scale) for scale in arrays["scales"].tolist())
        return cls(WindowSettings(pane=pane, length=length, stride=stride), scales, bool(arrays["daily"][0]))

    def scale(self, index: int) -> NDArray[np.intp]:
        """The columns of the windows of one length."""
        names = ("mean",) if index == 0 and self.single else FEATURE_NAMES
        own = [FEATURE_NAMES.index(name) for name in names]
        return index * len(FEATURE_NAMES) + np.array(own, np.intp)


def layout_for(window: WindowSettings, span_ns: int) -> Layout:
    """What can be learnt from telemetry of so long a time."""
    scales = tuple(
        scale for scale in SCALES if scale == 1 or span_ns >= _STRETCHES * scale * window.length.ns
    )
    daily = window.stride.ns >= _DAILY_STRIDE_NS and len(scales) > 1 and span_ns >= _DAILY_DAYS * DAY_NS
    return Layout(window, scales, daily)
