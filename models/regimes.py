"""Regimes: kinds of behaviour that healthy windows of one host show, such as idle, a training job, a checkpoint.

Each has a level and a step of its own for every feature, so what is small beside the difference between two jobs is still large
beside what one of them does. A window belongs to the regime that its shortest window is nearest to: that window alone says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from hostsight.channel import Channel
from hostsight.clock import iso
from hostsight.timerange import TimeRange
from models.layout import Layout
from models.protocol import Floats
from models.regime_names import names
from models.regime_search import separated
from models.scaling import MEAN, Scaler, compressed

_AT_HOME = 0.25
"""A window is in a regime, and not on its way, while it is less than so far on the way to any other."""
_SWITCHES = 2
"""More switches within a window are no change of job but a behaviour, to be judged."""
_FEWEST = 10
"""A regime is known from so many windows on."""
_OF_WHOLE = 0.1
"""The smallest step in a regime, in steps of all windows: a regime seen briefly knows little of its own spread."""


class Regime(msgspec.Struct, frozen=True, kw_only=True):
    """name: what sets it apart, empty where it is the only one.  share: of the training windows.  first_ns, last_ns: ends of the
    first and last window that was in it, not on its way to another."""

    name: str
    share: float
    first_ns: int
    last_ns: int

    def to_json(self) -> dict[str, object]:
        """As `models show --json` gives it."""
        return {
            "name": self.name,
            "share": self.share,
            "first_seen": iso(self.first_ns),
            "last_seen": iso(self.last_ns),
        }


@dataclass(frozen=True, slots=True)
class Regimes:
    """whole: of all windows.  places: [regimes, channels], levels in compressed steps of `whole`.  own: a scaler a regime."""

    whole: Scaler
    places: Floats
    own: tuple[Scaler, ...]
    known: tuple[Regime, ...]

    @classmethod
    def fit(  # noqa: PLR0913  # facts by name
        cls,
        values: NDArray[np.float32],
        ends: NDArray[np.int64],
        channels: Sequence[Channel],
        layout: Layout,
        *,
        seed: int = 0,
        adopted: Sequence[TimeRange] = (),
    ) -> Self:
        """values: [windows, channels, features] of the layout, ascending by `ends`.

        adopted: when new regimes were found.
        """
        whole = Scaler.fit(values, channels, layout)
        labels = separated(
            values, ends, channels=channels, layout=layout, whole=whole, seed=seed, adopted=adopted
        )
        count = int(labels.max()) + 1
        levels = compressed(_levels(values, whole))
        places = np.array([levels[labels == each].mean(axis=0) for each in range(count)])
        found = cls._lived_in(values, whole, places)
        count = len(found.own)
        if count == 1:
            only = Regime(name="", share=1.0, first_ns=int(ends[0]), last_ns=int(ends[-1]))
            return cls(whole, found.places, (whole,), (only,))
        regime, home = found.tell(values)
        settled = found.settle(values, ends, layout)
        inside = [settled[home & (regime == each)] for each in range(count)]
        own = tuple(_own(part, channels, layout, whole) for part in inside)
        shares = np.bincount(regime, minlength=count) / len(ends)
        seen = [ends[home & (regime == each)] for each in range(count)]
        known = tuple(
            Regime(name=name, share=share, first_ns=int(when[0]), last_ns=int(when[-1]))
            for name, share, when in zip(
                names(found.places, whole, own, channels), shares.tolist(), seen, strict=True
            )
        )
        return cls(whole, found.places, own, known)

    @classmethod
    def _lived_in(cls, values: NDArray[np.float32], whole: Scaler, places: Floats) -> Self:
        """Without the places that hardly any short window is at: what alternates from second to second is at neither mean."""
        while True:
            found = cls(whole, places, (whole,) * len(places), ())
            regime, home = found.tell(values)
            inside = np.bincount(regime[home], minlength=len(places))
            if len(places) == 1 or inside.min() >= _FEWEST:
                return found
            places = np.delete(places, inside.argmin(), axis=0)

    def tell(self, values: NDArray[np.float32]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """[windows]: the regime that each window is nearest to, and whether it is in it, not on the way to another."""
        levels = compressed(_levels(values, self.whole))
        away = np.column_stack([np.square(levels - place).sum(axis=1) for place in self.places])
        regime = away.argmin(axis=1)
        home = np.ones(len(levels), np.bool_)
        for number, place in enumerate(self.places):
            rows = np.flatnonzero(regime == number)
            for other in np.delete(self.places, number, axis=0):
                way = other - place
                part = ((levels[rows] - place) * way).sum(axis=1) / np.square(way).sum()
                home[rows] &= part < _AT_HOME
        return regime, home

    def steps(self, values: NDArray[np.float32]) -> Floats:
        """values as steps from what is usual in each window's regime, as `Scaler.steps`."""
        if len(self.own) == 1:
            return self.whole.steps(values)
        regime, _ = self.tell(values)
        out = np.empty(values.shape)
        for number, scaler in enumerate(self.own):
            rows = np.flatnonzero(regime == number)
            out[rows] = scaler.steps(values[rows])
        return out

    def names(self, values: NDArray[np.float32]) -> tuple[str, ...]:
        """[windows]: the name of each window's regime; empty where there is but one regime."""
        if len(self.own) == 1:
            return ()
        regime, _ = self.tell(values)
        return tuple(self.known[number].name for number in regime.tolist())

    def usual(self, values: NDArray[np.float32]) -> Scaler:
        """What is usual for most of these windows."""
        regime, _ = self.tell(values)
        return self.own[int(np.bincount(regime, minlength=len(self.own)).argmax())]

    def settle(
        self, values: NDArray[np.float32], ends: NDArray[np.int64], layout: Layout
    ) -> NDArray[np.float32]:
        """Without the longer windows that reach back across a switch between two regimes: they are like neither.

        values: [windows, channels, features], ascending by end, with those before that `layout.switch_ns` asks for.
        """
        if len(self.own) == 1 or len(layout.scales) == 1:
            return values
        switches = self._switches(values, ends, layout)
        settled = values.copy()
        for place, scale in enumerate(layout.scales[1:], start=1):
            reach_ns = (scale + 1) * layout.window.length.ns
            within = _count(switches, ends) - _count(switches, ends - reach_ns)
            rows = np.flatnonzero((within > 0) & (within <= _SWITCHES))
            settled[np.ix_(rows, np.arange(values.shape[1]), layout.scale(place))] = np.nan
        return settled

    def _switches(
        self, values: NDArray[np.float32], ends: NDArray[np.int64], layout: Layout
    ) -> NDArray[np.int64]:
        """Ends of the first windows in another regime than the last one that was in any."""
        regime, home = self.tell(values)
        regime, ends = regime[home], ends[home]
        soon = np.diff(ends) <= layout.switch_ns // 2
        return np.asarray(ends[1:][(np.diff(regime) != 0) & soon], np.int64)

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        found: dict[str, NDArray[np.generic]] = {
            "places": self.places,
            "names": np.array([each.name for each in self.known], np.str_),
            "shares": np.array([each.share for each in self.known]),
            "seen": np.array([(each.first_ns, each.last_ns) for each in self.known], np.int64),
        }
        found |= {f"whole.{name}": array for name, array in self.whole.arrays().items()}
        if len(self.own) > 1:
            for name in ("centre", "step"):
                found[f"own.{name}"] = np.stack([scaler.arrays()[name] for scaler in self.own])
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        whole = Scaler.from_arrays({name: arrays[f"whole.{name}"] for name in ("centre", "step")})
        own: tuple[Scaler, ...] = (whole,)
        if "own.centre" in arrays:
            pairs = zip(arrays["own.centre"], arrays["own.step"], strict=True)
            own = tuple(Scaler.from_arrays({"centre": centre, "step": step}) for centre, step in pairs)
        return cls(whole, arrays["places"].astype(np.float64), own, described(arrays))


def described(arrays: Mapping[str, NDArray[np.generic]]) -> tuple[Regime, ...]:
    """The regimes of `Regimes.arrays`."""
    rows = zip(*(arrays[name].tolist() for name in ("names", "shares", "seen")), strict=True)
    return tuple(
        Regime(name=name, share=share, first_ns=first, last_ns=last) for name, share, (first, last) in rows
    )


def _levels(values: NDArray[np.float32], whole: Scaler) -> Floats:
    """[windows, channels]: the shortest windows' levels, in steps of all windows; what is absent is as expected: 0."""
    steps = (values[:, :, MEAN].astype(np.float64) - whole.centre[:, MEAN]) / whole.step[:, MEAN]
    return np.where(np.isfinite(steps), steps, 0.0)


def _own(values: NDArray[np.float32], channels: Sequence[Channel], layout: Layout, whole: Scaler) -> Scaler:
    """Of the windows of one regime; what has no value in it is as in all."""
    found = Scaler.fit(values, channels, layout)
    there = np.isfinite(values).any(axis=0)
    step = np.where(there, np.maximum(found.step, _OF_WHOLE * whole.step), whole.step)
    return Scaler(np.where(there, found.centre, whole.centre), step)


def _count(switches: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.intp]:
    """[windows]: how many switches there were up to each."""
    found: NDArray[np.intp] = np.searchsorted(switches, ends, side="right")
    return found
