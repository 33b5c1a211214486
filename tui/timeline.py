"""A series over time with a window of it marked, and the level that was expected."""

from __future__ import annotations

import math
from dataclasses import dataclass

from textual.content import Content
from textual.widget import Widget

from hostsight.clock import SECOND_NS
from hostsight.timerange import TimeRange
from tui import spark
from tui.glyphs import MUTED
from tui.quantity import instant, quantity
from tui.source import Series
from tui.text import fit

AXIS = 11
EXPECTED = "╌"


@dataclass(frozen=True, slots=True)
class Plot:
    """What is drawn: `window` lies within `span`; `expected` is in `unit`, None where unknown."""

    label: str
    unit: str
    series: Series
    span: TimeRange
    window: TimeRange
    expected: float | None
    style: str


class Timeline(Widget):
    """A line of label, the picture, the marked window below it, and the times at its ends."""

    DEFAULT_CSS = "Timeline { height: 8; padding: 0 2; }"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.plot: Plot | None = None

    def show(self, plot: Plot) -> None:
        self.plot = plot
        self.refresh()

    def render(self) -> Content:
        size = self.content_size
        if self.plot is None or size.width <= 2 * AXIS or size.height < 4:
            return Content("")
        return Content("\n").join(draw(self.plot, size.width, size.height))


def draw(plot: Plot, width: int, height: int) -> list[Content]:
    """`height` lines of `width` cells."""
    room, levels = width - AXIS - 1, height - 3
    values = spark.columns(plot.series, plot.span, room)
    bottom, top = scale(values, plot)
    picture = spark.rows(values, levels, top, bottom)
    begin, end = _columns_of(plot.window, plot.span, room)
    expected_row = _row_of(plot.expected, levels, top, bottom)
    lines = [Content.styled(fit(plot.label, width), "bold")]
    for row, blocks in enumerate(picture):
        word = _axis_word(row, levels, top, bottom, plot.unit)
        lines.append(Content.assemble((word, MUTED), *_cells(blocks, begin, end, plot, row == expected_row)))
    mark = " " * begin + "━" * (end - begin)
    return [*lines, Content.assemble(" " * (AXIS + 1), (mark, plot.style)), _times(plot, room)]


def scale(values: list[float], plot: Plot) -> tuple[float, float]:
    """From 0, unless everything lies in the upper part: then from a little below the smallest."""
    known = [value for value in [*values, plot.expected or math.nan] if math.isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if 0 <= low < 0.6 * high or low == high >= 0:
        return 0.0, high
    return low - 0.1 * (high - low or abs(high)), high


def _columns_of(window: TimeRange, span: TimeRange, room: int) -> tuple[int, int]:
    length = max(1, span.end_ns - span.start_ns)
    begin = (window.start_ns - span.start_ns) * room // length
    end = -(-(window.end_ns - span.start_ns) * room // length)
    begin = max(0, min(begin, room - 1))
    return begin, max(begin + 1, min(end, room))


def _row_of(value: float | None, levels: int, top: float, bottom: float) -> int:
    """The line, from the top, that `value` lies in; -1 for none."""
    if value is None or not math.isfinite(value) or not top > bottom or not bottom <= value <= top:
        return -1
    return levels - 1 - min(levels - 1, int((value - bottom) / (top - bottom) * levels))


def _axis_word(row: int, levels: int, top: float, bottom: float, unit: str) -> str:
    if row == 0:
        return fit(quantity(top, unit), AXIS - 1, right=True) + " ┤"
    if row == levels - 1:
        return fit(quantity(bottom, unit), AXIS - 1, right=True) + " ┤"
    return " " * AXIS + "│"


def _cells(blocks: str, begin: int, end: int, plot: Plot, expected: bool) -> list[tuple[str, str]]:
    if expected:
        blocks = blocks.replace(" ", EXPECTED)
    outside = MUTED
    return [(blocks[:begin], outside), (blocks[begin:end], plot.style), (blocks[end:], outside)]


def _times(plot: Plot, room: int) -> Content:
    now = plot.span.end_ns
    left, right = instant(plot.span.start_ns, now), instant(plot.span.end_ns, now) + " UTC"
    seconds = (plot.window.end_ns - plot.window.start_ns) / SECOND_NS
    usual = (
        "" if plot.expected is None else f"{EXPECTED}{EXPECTED} expected {quantity(plot.expected, plot.unit)}"
    )
    middle = f"━━ {seconds:,.0f} s   {usual}".rstrip()
    gap = max(1, room - len(left) - len(right) - len(middle))
    text = left + " " * (gap // 2) + middle + " " * (gap - gap // 2) + right
    return Content.styled(" " * (AXIS + 1) + fit(text, room), MUTED)
