"""What the overview shows once it was read: hosts, what is wrong with hostsight itself, and the episodes that are open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from hostsight.timerange import TimeRange
from tui.episodelist import OpenEpisodes
from tui.glyphs import MUTED, WARNING
from tui.hostpanel import HostPanel
from tui.source import Episode, Headline, Pulse
from tui.text import clean

OPEN_ROWS = 6
MAX_PROBLEMS = 3
MAX_SCALE = 5


class Hosts(VerticalScroll, can_focus=False, inherit_bindings=False):
    """The panels; a panel that gets the focus comes into sight."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "page_up", "Page up", show=False),
        Binding("pagedown", "page_down", "Page down", show=False),
    ]


class Board(Vertical):
    DEFAULT_CSS = """
    Board #hosts { height: 1fr; padding: 1 0 0 0; scrollbar-size-vertical: 1; }
    Board #waiting { padding: 0 2; color: $text-muted; }
    Board #problems { height: auto; max-height: 6; padding: 0 2; display: none; }
    Board #open-title { height: 1; padding: 0 2; text-style: bold; }
    Board OpenEpisodes { height: auto; max-height: 7; margin-bottom: 1; display: none; }
    """

    def compose(self) -> ComposeResult:
        with Hosts(id="hosts"):
            yield Static(
                "No telemetry yet: start `hostsight up`, or name another folder with --data.", id="waiting"
            )
        yield Static(id="problems", markup=False)
        yield Static(id="open-title")
        yield OpenEpisodes(id="open")

    async def show(
        self,
        pulse: Pulse,
        headlines: Mapping[str, Sequence[Headline]],
        episodes: Sequence[Episode],
        span: TimeRange,
        now_ns: int,
    ) -> None:
        """`episodes`: those that are open; `headlines`: of each host."""
        await self._show_hosts(pulse, headlines, episodes, span)
        self._show_problems(pulse.problems)
        self._show_open(episodes, now_ns)
        self._focus_something(episodes)
        self._fit()

    async def _show_hosts(
        self,
        pulse: Pulse,
        headlines: Mapping[str, Sequence[Headline]],
        episodes: Sequence[Episode],
        span: TimeRange,
    ) -> None:
        panels = {panel.status.host: panel for panel in self.query(HostPanel)}
        for host in panels.keys() - {status.host for status in pulse.hosts}:
            await panels[host].remove()
        self.query_one("#waiting").display = not pulse.hosts
        for status in pulse.hosts:
            panel = panels.get(status.host)
            if panel is None:
                panel = HostPanel(status)
                await self.query_one("#hosts").mount(panel)
            mine = [episode for episode in episodes if episode.host == status.host]
            panel.show(status, headlines.get(status.host, ()), mine, span)

    def _show_problems(self, problems: Sequence[str]) -> None:
        lines = [
            Content.assemble((WARNING.glyph, WARNING.style), " ", clean(text))
            for text in problems[:MAX_PROBLEMS]
        ]
        if len(problems) > MAX_PROBLEMS:
            lines.append(
                Content.styled(f"  and {len(problems) - MAX_PROBLEMS} more: `hostsight status`", MUTED)
            )
        widget = self.query_one("#problems", Static)
        widget.display = bool(lines)
        widget.update(Content("\n").join(lines))

    def _show_open(self, episodes: Sequence[Episode], now_ns: int) -> None:
        words = f"Open episodes  {len(episodes)}" if episodes else "No open episodes"
        self.query_one("#open-title", Static).update(words)
        rows = self.query_one(OpenEpisodes)
        rows.display = bool(episodes)
        rows.styles.height = min(len(episodes), OPEN_ROWS)
        rows.shows_host = len(self.query(HostPanel)) > 1
        rows.now_ns = now_ns
        rows.show(episodes)

    def _focus_something(self, episodes: Sequence[Episode]) -> None:
        """What needs a person first; a choice that a person made is left alone."""
        if self.screen.focused is None:
            target = self.query_one(OpenEpisodes) if episodes else next(iter(self.query(HostPanel)), None)
            self.screen.set_focus(target)

    def _fit(self) -> None:
        """Taller strips where the screen has room for them."""
        panels = list(self.query(HostPanel))
        strips = sum(len(panel.headlines) for panel in panels)
        room = self.query_one("#hosts").size.height - 1 - 2 * len(panels)
        scale = max(1, min(MAX_SCALE, room // strips)) if strips else 1
        for panel in panels:
            panel.set_scale(scale)

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._fit)
