"""All episodes of the time range: filter, sort, and Enter for one in full."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input, Static

from hostsight.timerange import TimeRange
from tui.episodelist import EpisodeList
from tui.filter import matching
from tui.glyphs import RANKS
from tui.rowlist import Chosen
from tui.source import Episode, HostStatus, Pulse
from tui.text import clean
from tui.view import View

ORDERS: dict[str, Callable[[Episode], tuple[float | str, ...]]] = {
    "newest first": lambda episode: (-episode.opened_ns,),
    "severest first": lambda episode: (-RANKS.get(episode.severity, 0), -episode.opened_ns),
    "highest score first": lambda episode: (-episode.score, -episode.opened_ns),
    "longest first": lambda episode: (episode.opened_ns - episode.end_ns, -episode.opened_ns),
    "by host": lambda episode: (episode.host, -episode.opened_ns),
    "by subsystem": lambda episode: (episode.subsystem, -episode.opened_ns),
}
FILTER_HINT = "words   host:gpu01   severity:critical   state:open   -info"


class FilterInput(Input):
    """The key line names the ways out of it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "To the list"),
        Binding("escape", "screen.back", "Back", key_display="Esc"),
    ]


class Episodes(View):
    DEFAULT_CSS = """
    Episodes #filter { display: none; margin: 0 1; height: 1; border: none; border-left: outer $accent; padding: 0; }
    Episodes #filter.shown { display: block; }
    Episodes #count { height: 1; padding: 0 2; color: $text-muted; }
    """
    HELP = (
        "Stretches of time in which a host left its usual behaviour. The filter takes words that must all be found; "
        "host:, severity:, state:, subsystem:, device:, metric: and id: look in one column, a minus leaves out."
    )
    AUTO_FOCUS: ClassVar[str | None] = "EpisodeList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", tooltip="Filter by words", key_display="/"),
        Binding(
            "s", "sort", "Sort", tooltip="Sort: newest, severest, highest score, longest, host, subsystem"
        ),
        Binding(
            "a", "acknowledge", "Ack", tooltip="Somebody is at it: no more alerts about it; again: take back"
        ),
        Binding("escape", "back", "Back", show=False, key_display="Esc"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._all: Sequence[Episode] = ()
        self._hosts: Sequence[HostStatus] | None = None
        self._order = next(iter(ORDERS))

    def crumbs(self) -> tuple[str, ...]:
        return ("hostsight", "Episodes")

    def body(self) -> ComposeResult:
        yield FilterInput(id="filter", placeholder=FILTER_HINT)
        yield Static("Reading episodes ...", id="count", markup=False)
        yield EpisodeList(id="list")

    async def load(self, pulse: Pulse, span: TimeRange) -> None:
        self._all = await self.console.read(self.console.source.episodes, span)
        self._hosts = pulse.hosts
        self._show()

    def _show(self) -> None:
        rows = sorted(matching(self._all, self.query_one("#filter", Input).value), key=ORDERS[self._order])
        listing = self.query_one(EpisodeList)
        listing.now_ns = self.console.clock.wall_ns()
        listing.show(rows)
        if self._hosts is not None:
            self.query_one("#count", Static).update(self._count(len(rows), self._hosts))

    def _count(self, shown: int, hosts: Sequence[HostStatus]) -> str:
        total = len(self._all)
        if not total:
            return f"No episodes in {self.console.follow.text}; {_why_none(hosts)}"
        number = f"{total:,}" if shown == total else f"{shown:,} of {total:,}"
        return f"{number} episode{'s' if total != 1 else ''} in {self.console.follow.text}, {self._order}"

    def filter(self, text: str) -> None:
        """Show only what `text` lets through; an empty text shows all and puts the line away."""
        line = self.query_one("#filter", Input)
        line.value = text
        line.set_class(bool(text), "shown")
        self._show()

    def action_filter(self) -> None:
        line = self.query_one("#filter", Input)
        line.add_class("shown")
        line.focus()

    def action_sort(self) -> None:
        names = list(ORDERS)
        self._order = names[(names.index(self._order) + 1) % len(names)]
        self._show()

    async def action_acknowledge(self) -> None:
        current = self.query_one(EpisodeList).current
        if current is not None:
            await self.acknowledge(current.id)

    def action_back(self) -> None:
        """Out of the filter, then the filter away, then to the overview."""
        line = self.query_one("#filter", Input)
        if line.has_focus and line.value:
            self.query_one(EpisodeList).focus()
        elif line.has_class("shown"):
            self.filter("")
            self.query_one(EpisodeList).focus()
        else:
            self.console.action_view("overview")

    def on_input_changed(self) -> None:
        self._show()

    def on_input_submitted(self) -> None:
        self.query_one(EpisodeList).focus()

    def on_row_list_chosen(self, message: Chosen[Episode]) -> None:
        self.console.show_episode(message.row.id)


def _why_none(hosts: Sequence[HostStatus]) -> str:
    """What an empty list means, or what to do about it."""
    learning = [clean(host.host) for host in hosts if host.phase == "learning"]
    if not hosts:
        return "there is no telemetry yet: start `hostsight up`"
    if not learning:
        return "t chooses another time range"
    who = f"{learning[0]} is" if len(learning) == 1 else f"{len(learning)} hosts are"
    return f"{who} still learning what is normal"
