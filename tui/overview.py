"""Every host at a glance, what is wrong with hostsight itself, and the episodes that are open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.widgets import Static

from hostsight.timerange import TimeRange
from tui.pace import Pace
from tui.source import Episode, Headline, Pulse
from tui.view import View

if TYPE_CHECKING:
    from tui.board import Board
    from tui.hostpanel import HostPanel
    from tui.rowlist import Chosen

POINTS = 300


class Overview(View):
    DEFAULT_CSS = "Overview #reading { height: 1fr; padding: 1 2; color: $text-muted; }"
    HELP = (
        "A strip for each subsystem: the figure that stands for it, its course over the time range, and its state. "
        "While a host is learning, the bar says how far; afterwards episodes open when it leaves its usual behaviour."
    )
    AUTO_FOCUS: ClassVar[str | None] = ""

    def crumbs(self) -> tuple[str, ...]:
        return ("hostsight", "Overview")

    def body(self) -> ComposeResult:
        yield Static("Reading the data folder ...", id="reading")

    def on_mount(self) -> None:
        # episodes and progress cost little; the strips' values are read less often when they cost more
        self._strips = Pace(self.console.clock, share=0.04)
        self._headlines: Mapping[str, Sequence[Headline]] = {}
        self._shown_for = ("", False)

    def _asked_for(self) -> tuple[str, bool]:
        return self.console.follow.text, self.console.follow.live

    async def load(self, pulse: Pulse, span: TimeRange) -> None:
        read, source = self.console.read, self.console.source
        open_episodes = [
            episode for episode in await read(source.episodes, span) if episode.open and not episode.muted
        ]
        if self._strips.due or self._asked_for() != self._shown_for:
            with self._strips.within():
                self._headlines = await read(source.headlines, span, POINTS)
            self._shown_for = self._asked_for()
        board = await self._board()
        await board.show(pulse, self._headlines, open_episodes, span, self.console.clock.wall_ns())

    async def _board(self) -> Board:
        """Made when there is something to show: the first frame need not wait for it."""
        from tui.board import Board

        for board in self.query(Board):
            return board
        board = Board()
        await self.query_one("#reading").remove()
        await self.mount(board)
        return board

    def on_host_panel_opened(self, message: HostPanel.Opened) -> None:
        self.console.show_episodes_of(message.host)

    def on_row_list_chosen(self, message: Chosen[Episode]) -> None:
        self.console.show_episode(message.row.id)
