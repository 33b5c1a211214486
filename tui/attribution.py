"""How much each subsystem, device and metric explains of an episode, as a tree that folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from hostsight.channel import WHOLE_HOST
from tui.glyphs import DIRECTIONS, MUTED
from tui.quantity import quantity
from tui.rowlist import RowList
from tui.source import Attribution
from tui.spark import bar
from tui.text import fit

SHARE, BAR = 14, 8
NARROW, WIDE = 17, 22
"""Width of a value with a blank before it: `3.36k requests/s`, and the longest unit where there is room."""


@dataclass(frozen=True, slots=True)
class Node:
    """`path` is (subsystem), (subsystem, device) or (subsystem, device, metric); a metric has its `channel`."""

    path: tuple[str, ...]
    share: float
    channel: Attribution
    folded: bool = False

    @property
    def leaf(self) -> bool:
        return len(self.path) == 3


def nodes(attribution: Sequence[Attribution], folded: frozenset[tuple[str, ...]]) -> list[Node]:
    """The tree, depth first, largest share first on each level; what lies below a folded node is left out."""
    return list(_level(attribution, (), folded))


def _level(
    rows: Sequence[Attribution], path: tuple[str, ...], folded: frozenset[tuple[str, ...]]
) -> Iterator[Node]:
    part = ("subsystem", "device", "metric")[len(path)]

    def name(row: Attribution) -> str:
        return str(getattr(row, part))

    groups = [(value, list(group)) for value, group in groupby(sorted(rows, key=name), key=name)]
    groups.sort(key=lambda group: -sum(row.share for row in group[1]))
    for value, group in groups:
        here = (*path, value)
        top = max(group, key=lambda row: row.share)
        yield Node(here, sum(row.share for row in group), top, here in folded)
        if len(here) < 3 and here not in folded:
            yield from _level(group, here, folded)


class AttributionTree(RowList[Node]):
    """The cursor stands on a metric at first, so that its course is what is shown."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "choose", "Fold", tooltip="Fold or unfold"),
        Binding("left,h", "fold(True)", "Fold", show=False),
        Binding("right,l", "fold(False)", "Unfold", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._attribution: Sequence[Attribution] = ()
        self._folded: frozenset[tuple[str, ...]] = frozenset()

    def show_attribution(self, attribution: Sequence[Attribution]) -> None:
        first = not self.rows
        self._attribution = attribution
        self.show(nodes(attribution, self._folded))
        if first:
            self.cursor = next((index for index, node in enumerate(self.rows) if node.leaf), 0)

    def key(self, row: Node) -> object:
        return row.path

    def heading(self, width: int) -> Content | None:
        inside = width - 2
        words = fit("explained by", _name_width(inside)) + fit("share", SHARE)
        return Content("  " + words + _column("expected", inside) + _column("actual", inside))

    def line(self, row: Node, width: int) -> Content:
        depth = len(row.path) - 1
        fold = "" if row.leaf else ("▸ " if row.folded else "▾ ")
        word = "whole host" if depth == 1 and row.path[-1] == WHOLE_HOST else row.path[-1]
        arrow = f"{DIRECTIONS.get(row.channel.direction, '')} " if row.leaf else ""
        name = fit("  " * depth + fold + arrow + word, _name_width(width) - 1) + " "
        share = f"{bar(row.share, BAR)} {_percent(row.share)} %"
        return Content.assemble(
            (name, "" if row.leaf else "bold"), (fit(share, SHARE), "$text-accent"), *_values(row, width)
        )  # fmt: skip

    def action_choose(self) -> None:
        if self.current is not None:
            self.action_fold(not self.current.folded)

    def action_fold(self, folded: bool) -> None:
        node = self.current
        if node is None:
            return
        path = node.path[:-1] if node.leaf else node.path
        self._folded = self._folded | {path} if folded else self._folded - {path}
        rows = nodes(self._attribution, self._folded)
        self.show(rows)
        if node.leaf and folded:
            self.cursor = next(index for index, row in enumerate(rows) if row.path == path)


def _percent(share: float) -> str:
    """A share that is there is never shown as 0."""
    return " <1" if 0 < share < 0.005 else f"{100 * share:3.0f}"


def _name_width(width: int) -> int:
    return max(12, min(60, width - SHARE - 2 * _value_width(width)))


def _value_width(width: int) -> int:
    return WIDE if width >= 100 else NARROW


def _column(text: str, width: int) -> str:
    """A value's text, to the right of its column and apart from what stands before it."""
    return " " + fit(text, _value_width(width) - 1, right=True)


def _values(node: Node, width: int) -> list[str | tuple[str, str]]:
    if not node.leaf:
        return []
    channel = node.channel
    return [
        (_column(quantity(channel.expected, channel.unit), width), MUTED),
        (_column(quantity(channel.actual, channel.unit), width), "bold"),
    ]
