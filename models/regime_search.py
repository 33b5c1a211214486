"""How many regimes training shows: one, unless there is a clear gap between them.

Windows are split in two along a principal axis where hardly any lie in between, each side is a fair part of training, and the
host stays on a side once it is there; then each part is looked at in the same way. A level that wanders, swings with the time of
day or has bursts leaves no such gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hostsight.channel import Channel
from hostsight.timerange import TimeRange
from models.effects import smallest_effects
from models.layout import Layout
from models.principal import Principal
from models.protocol import Floats
from models.scaling import MEAN, Scaler, compressed

_MOST = 6
_AXES = 5
_EXPLAINED = 0.9
_LEAST_SHARE = 0.05
_FEWEST = 60
_BETWEEN = 0.02
"""The part of the windows that may lie in the gap: they are on their way."""
_GAP = 0.4
"""How wide the gap must be, as a part of the range of all but the outermost windows."""
_FEWEST_ADOPTED = 10
"""What was found to be a new regime is one from so few windows on: a wide host's training is thinned to one in a minute."""
_NEARER = 0.25
"""Of squared distances: what is half as far from one regime as from every other is like that one."""
_NEAR = 0.25
_MOSTLY = 0.8
"""Two regimes are apart where so many windows of either are less than so far on the way to the other."""
_STAYS = 4
"""A stay is that many of the slow windows without overlap; most windows of a regime belong to one."""


def separated(  # noqa: PLR0913  # facts by name
    values: NDArray[np.float32],
    ends: NDArray[np.int64],
    *,
    channels: Sequence[Channel],
    layout: Layout,
    whole: Scaler,
    seed: int,
    adopted: Sequence[TimeRange] = (),
) -> NDArray[np.intp]:
    """[windows]: the regime of each, numbered from 0; -1 of those on their way to an adopted one.

    adopted: when new regimes were found while they were live; each is one, unless it is like another.
    """
    slow = min(1, len(layout.scales) - 1)
    column = layout.columns("mean")[slow]
    level = np.where(np.isfinite(values[:, :, column]), values[:, :, column], values[:, :, MEAN])
    steps = (level.astype(np.float64) - whole.centre[:, column]) / whole.step[:, column]
    stay_ns = _STAYS * layout.scales[slow] * layout.window.length.ns
    effects = smallest_effects(channels, whole.centre[:, MEAN]) / whole.step[:, MEAN]
    material = np.where([bool(channel.unit) for channel in channels], effects, 0.0)
    steps = compressed(np.where(np.isfinite(steps), steps, 0.0))
    new = [(ends > span.start_ns) & (ends <= span.end_ns) for span in adopted]
    usual = np.flatnonzero(~np.any(new, axis=0)) if new else np.arange(len(ends))
    if len(usual) < _FEWEST:
        usual, new = np.arange(len(ends)), []
    search = _Search(steps[usual], ends[usual], stay_ns, material, seed)
    labels = np.full(len(ends), -1, np.intp)
    for number, rows in enumerate(sorted(search.parts(), key=lambda rows: int(rows[0]))):
        labels[usual[rows]] = number
    for inside in new:
        _adopt(labels, steps, np.flatnonzero(inside), material)
    return labels


def _adopt(labels: NDArray[np.intp], steps: Floats, rows: NDArray[np.intp], material: Floats) -> None:
    """Label the newer half of `rows`, which was found to be steady, as the regime that it is like, or as one more."""
    steady = rows[len(rows) // 2 :]
    if len(steady) < _FEWEST_ADOPTED:
        return
    known = [steps[labels == each] for each in range(int(labels.max()) + 1)]
    place = steps[steady].mean(axis=0)
    away = np.array([np.square(place - other.mean(axis=0)).sum() for other in known])
    nearest = int(away.argmin())
    others = np.delete(away, nearest)
    nearer = len(others) > 0 and away[nearest] <= _NEARER * others.min()
    like = nearer or not _apart(steps[steady], known[nearest], material)
    labels[steady] = nearest if like else len(known)


def _apart(one: Floats, other: Floats, material: Floats) -> bool:
    """Whether some channel differs by what matters, and most windows of either are on their own side of the way between them.

    Along that way alone: what a hundred other channels vary by, on either side, says nothing of it.
    """
    here, there = one.mean(axis=0), other.mean(axis=0)
    way = there - here
    if not (np.abs(way) > material).any():
        return False
    near = _NEAR * np.square(way).sum()
    return bool(min(((one - here) @ way < near).mean(), ((there - other) @ way < near).mean()) >= _MOSTLY)


@dataclass(frozen=True, slots=True)
class _Search:
    """steps: [windows, channels], of slow windows.  material: [channels], the difference from which on one matters."""

    steps: Floats
    ends: NDArray[np.int64]
    stay_ns: int
    material: Floats
    seed: int

    def parts(self) -> list[NDArray[np.intp]]:
        """Rows of each regime, ascending."""
        whole, found = [np.arange(len(self.ends))], list[NDArray[np.intp]]()
        while whole:
            rows = whole.pop()
            halves = self._split(rows) if len(whole) + len(found) + 2 <= _MOST else None
            if halves is None:
                found.append(rows)
            else:
                whole.extend(halves)
        return found

    def _split(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
        fewest = max(_FEWEST, int(_LEAST_SHARE * len(self.ends)))
        if len(rows) < 2 * fewest:
            return None
        part = self.steps[rows]
        centred = part - part.mean(axis=0)
        best, chosen = _GAP, None
        found = Principal.fit(part, self.seed)
        for axis in found.components[: min(_AXES, found.leading(_EXPLAINED))]:
            place = centred @ axis
            width, middle = _gap(np.sort(place), fewest)
            above = place > middle
            if width >= best and self._lasting(rows, above) and self._matters(part, above):
                best, chosen = width, above
        return None if chosen is None else (rows[~chosen], rows[chosen])

    def _lasting(self, rows: NDArray[np.intp], above: NDArray[np.bool_]) -> bool:
        """Whether most windows of either side are part of a stay there."""
        sides = np.full(len(self.ends), -1)
        sides[rows] = above
        edges = np.flatnonzero(np.diff(sides, prepend=-2, append=-2))
        spans = [(sides[start], start, stop) for start, stop in pairwise(edges)]
        for side in (0, 1):
            staying = [
                stop - start
                for which, start, stop in spans
                if which == side and self.ends[stop - 1] - self.ends[start] >= self.stay_ns
            ]
            if 2 * sum(staying) < (sides == side).sum():
                return False
        return True

    def _matters(self, part: Floats, above: NDArray[np.bool_]) -> bool:
        apart = np.abs(part[above].mean(axis=0) - part[~above].mean(axis=0))
        return bool((apart > self.material).any())


def _gap(ordered: Floats, fewest: int) -> tuple[float, float]:
    """(width, middle) of the widest stretch that holds hardly any window and has `fewest` on either side.

    The width is a part of the range between the outermost windows but `fewest // 2` on either side.
    """
    inside = int(_BETWEEN * len(ordered))
    starts = np.arange(fewest - 1, len(ordered) - fewest - inside)
    if not len(starts):
        return 0.0, float(ordered[-1])
    widths = ordered[starts + inside + 1] - ordered[starts]
    widest = int(widths.argmax())
    reach = ordered[-1 - fewest // 2] - ordered[fewest // 2]
    middle = (ordered[starts[widest] + inside + 1] + ordered[starts[widest]]) / 2
    return float(widths[widest] / max(reach, 1e-12)), float(middle)
