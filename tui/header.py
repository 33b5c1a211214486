"""The first line of every view: where one is, and how fresh what is shown is."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui.glyphs import LIVE, MUTED, OUTDATED, PAUSED, WAITING, Mark
from tui.quantity import duration
from tui.text import clean, fit

STALE_SECONDS = 30
"""Telemetry by way of a server that gets it in batches is often some 20 s old."""


class Header(Widget):
    """`Overview › Episodes › Episode 12            ● LIVE   data 1 s old   5m`"""

    DEFAULT_CSS = "Header { dock: top; height: 1; background: $panel; padding: 0 1; }"

    crumbs: reactive[tuple[str, ...]] = reactive(())
    live: reactive[bool] = reactive(True)
    age_seconds: reactive[float | None] = reactive(None)
    range_text: reactive[str] = reactive("")

    def render(self) -> Content:
        right = Content.assemble(
            self._mark().content(),
            "  ",
            self._age(),
            f"  {clean(self.range_text)}".rstrip(),
        )
        width = self.content_size.width
        left = " › ".join(map(clean, self.crumbs))
        return Content.assemble((fit(left, max(0, width - right.cell_length - 2)), "bold"), "  ", right)

    def _mark(self) -> Mark:
        """A range that moves with the clock is not live where nothing new comes into it."""
        if not self.live:
            return PAUSED
        if self.age_seconds is None:
            return WAITING
        return OUTDATED if self.age_seconds > STALE_SECONDS else LIVE

    def _age(self) -> Content:
        if self.age_seconds is None:
            return Content.styled("no data yet", MUTED)
        text = f"data {duration(self.age_seconds)} old"
        return Content.styled(text, "$text-warning" if self.age_seconds > STALE_SECONDS else MUTED)
