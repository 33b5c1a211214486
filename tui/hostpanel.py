"""One host: how far it is, and a strip for each of its subsystems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from hostsight.clock import SECOND_NS
from hostsight.timerange import TimeRange
from tui import spark
from tui.glyphs import CRITICAL, LEARNING, MUTED, NO_DATA, NORMAL, RANKS, STALE, WARNING, Mark, severity
from tui.header import STALE_SECONDS
from tui.quantity import quantity
from tui.source import Episode, Headline, HostStatus
from tui.text import clean, fit

NAME, VALUE, STATE = 13, 13, 11
LABEL, WIDE_LABEL, WIDE = 12, 20, 110
PEAK = 18
BAR = 20
WARM_UP = Mark("◌", "warm-up", LEARNING.style)
WATCHING = Mark("●", "live", NORMAL.style)
RAISED = (WARNING, CRITICAL)
CALM = "$primary 70%"


class HostPanel(Widget, can_focus=True):
    """`scale` is the number of lines a strip takes: 1, 2 (one blank), 3 or 4 (taller pictures)."""

    DEFAULT_CSS = """
    HostPanel {
        height: auto; padding: 0 1; border-left: blank; margin-bottom: 1;
        &:focus { border-left: outer $accent; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Its episodes"),
        Binding("up,k", "app.focus_previous", "Previous host", show=False),
        Binding("down,j", "app.focus_next", "Next host", show=False),
    ]

    class Opened(Message):
        def __init__(self, host: str) -> None:
            super().__init__()
            self.host = host

    def __init__(self, status: HostStatus) -> None:
        super().__init__()
        self.status = status
        self.headlines: Sequence[Headline] = ()
        self.episodes: Sequence[Episode] = ()
        self.span = TimeRange(0, 1)
        self.scale = 1

    def show(
        self, status: HostStatus, headlines: Sequence[Headline], episodes: Sequence[Episode], span: TimeRange
    ) -> None:
        """`episodes`: those open on this host."""
        width = self.content_size.width
        grown = len(headlines) != len(self.headlines)
        grown |= len(title(status, width)) != len(title(self.status, width))
        self.status, self.headlines, self.episodes, self.span = status, headlines, episodes, span
        self.refresh(layout=grown)

    @property
    def stale(self) -> bool:
        """Whether nothing comes in, or the newest data is older than it should be at the end of what is shown."""
        newest_ns = self.status.newest_ns
        return (
            self.status.phase == "no data"
            or newest_ns is None
            or self.span.end_ns - newest_ns > STALE_SECONDS * SECOND_NS
        )

    def set_scale(self, scale: int) -> None:
        if scale != self.scale:
            self.scale = scale
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(title(self.status, width)) + len(self.headlines) * self.scale

    def render(self) -> Content:
        width = self.content_size.width
        lines = title(self.status, width)
        for headline in self.headlines:
            lines += strip(headline, self.span, self._mark(headline), width, self.scale)
        return Content("\n").join(lines)

    def _mark(self, headline: Headline) -> Mark:
        worst = max(
            (episode.severity for episode in self.episodes if episode.subsystem == headline.subsystem),
            key=lambda name: RANKS.get(name, 0),
            default="",
        )
        if worst:
            return severity(worst)
        if not any(map(math.isfinite, headline.series.values)):
            return NO_DATA
        if self.stale:
            return STALE
        return LEARNING if self.status.phase == "learning" else NORMAL

    def action_open(self) -> None:
        self.post_message(self.Opened(self.status.host))

    def on_click(self, event: events.Click) -> None:
        if event.chain == 2:
            self.action_open()


def title(status: HostStatus, width: int) -> list[Content]:
    """`gpu01  ◌ warm-up  ━━━━━━━━──────  48 %  what it is doing`, in two lines where one is too short."""
    host = clean(status.host)
    head = Content.assemble((fit(host, min(cell_len(host), width // 3)), "bold"), "  ", *_phase(status), "  ")
    activity = clean(status.activity)
    if cell_len(activity) <= width - head.cell_length:
        return [Content.assemble(head, (activity, MUTED))]
    return [head.truncate(width), Content.styled(fit(activity, width), MUTED)]


def _phase(status: HostStatus) -> list[Content | tuple[str, str]]:
    if status.phase == "live":
        return [WATCHING.content()]
    if status.phase == "no data":
        return [NO_DATA.content()]
    progress = min(1.0, max(0.0, status.progress)) if math.isfinite(status.progress) else 0.0
    done = round(BAR * progress)
    bar = [("━" * done, WARM_UP.style), ("─" * (BAR - done), MUTED)]
    return [WARM_UP.content(), ("  ", ""), *bar, (f" {math.floor(100 * progress):3d} %", "")]


def strip(headline: Headline, span: TimeRange, mark: Mark, width: int, scale: int) -> list[Content]:
    """`scale` lines; the words stand on the base line of the picture."""
    height = max(1, scale - 1)
    label, peak = (WIDE_LABEL, PEAK) if width >= WIDE else (LABEL, 0)
    room = max(0, width - NAME - VALUE - 1 - label - 2 - peak - STATE)
    values = spark.columns(headline.series, span, room)
    picture = spark.rows(values, height, spark.ceiling(values, headline.unit))
    indent = " " * (width - room - 2 - peak - STATE)
    largest = max(filter(math.isfinite, values), default=math.nan)
    above = [Content.assemble(indent, (row, mark.style if mark in RAISED else CALM)) for row in picture[:-1]]
    words = Content.assemble(
        fit(headline.subsystem, NAME),
        (fit(quantity(_current(headline), headline.unit), VALUE, right=True), "bold"),
        " ",
        (fit(headline.label, label - 1) + " ", MUTED),
        (picture[-1], mark.style if mark in RAISED else CALM),
        "  ",
        (fit(f"peak {quantity(largest, headline.unit)}", peak), MUTED),
        mark.content(STATE),
    )
    blank = [Content("")] if scale > 1 else []
    return [*above, words, *blank]


def _current(headline: Headline) -> float:
    return next((value for value in reversed(headline.series.values) if math.isfinite(value)), math.nan)
