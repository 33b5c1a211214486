"""What all views share: header, trouble line, key line, and reading again while the range is live."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from hostsight.timerange import TimeRange
from tui.glyphs import WARNING
from tui.header import Header
from tui.keyline import KeyLine
from tui.pace import Pace
from tui.source import Pulse
from tui.text import clean
from tui.trouble import trouble

if TYPE_CHECKING:
    from tui.app import Console


class View(Screen[None]):
    """A screen that shows data. Subclasses compose `body` and read in `load`."""

    DEFAULT_CSS = """
    View { layout: vertical; }
    View #trouble { height: auto; max-height: 3; padding: 0 1; display: none; }
    """
    HELP: ClassVar[str] = ""
    """What the view is for, in a few lines of plain text, shown above its keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "app.focus_next", "Next part of the view", show=False),
        Binding("shift+tab", "app.focus_previous", "Previous part of the view", show=False),
    ]

    SHOWS_RANGE: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self._loading = False

    @property
    def console(self) -> Console:
        return cast("Console", self.app)

    def crumbs(self) -> tuple[str, ...]:
        raise NotImplementedError

    def body(self) -> ComposeResult:
        raise NotImplementedError

    async def load(self, pulse: Pulse, span: TimeRange) -> None:
        """Read what the view shows of `span` and show it; what it raises is shown as trouble."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        yield Header()
        yield Static(id="trouble", markup=False)
        yield from self.body()
        yield KeyLine()

    def on_mount(self) -> None:
        self._pace = Pace(self.console.clock, share=0.2)

    def on_screen_resume(self) -> None:
        self.update_header()
        self.call_after_refresh(self.reload)

    def update_header(self) -> None:
        """Nothing while the view is still being made, or is gone: the console's beat may fall between."""
        header = next(iter(self.query(Header)), None)
        if header is None:
            return
        header.crumbs = self.crumbs()
        header.live = self.console.follow.live
        header.age_seconds = self.console.age_seconds()
        header.range_text = self.console.follow.text if self.SHOWS_RANGE else ""

    def keep_fresh(self) -> None:
        """Read again once it is due: a long range takes longer than a second to read."""
        if self.is_mounted and self._pace.due:
            self.reload()

    def reload(self) -> None:
        """Read again, unless the last reading has not come back yet."""
        if not self._loading and self.is_attached:
            self._loading = True
            self.run_worker(self._reload(), group="load")

    async def _reload(self) -> None:
        try:
            with self._pace.within():
                pulse = await self.console.read(self.console.source.pulse)
                self.console.saw(pulse)
                await self.load(pulse, self.console.span())
            self.show_trouble("")
        except Exception as error:  # noqa: BLE001  # it is shown, and read again: the console outlives it
            self.show_trouble(trouble(error))
        finally:
            self._loading = False
        self.update_header()

    async def acknowledge(self, episode_id: int) -> None:
        """Acknowledge an episode, or take that back, and show what came of it."""
        try:
            await self.console.read(self.console.source.acknowledge, episode_id)
        except Exception as error:  # noqa: BLE001  # the console outlives it
            self.notify(trouble(error), severity="warning", markup=False)
            return
        self.reload()

    @property
    def gone(self) -> bool:
        """Whether the view was left for good: its parts go before what it still reads comes back."""
        return not self.display

    def show_trouble(self, sentence: str) -> None:
        if self.gone:
            return
        line = self.query_one("#trouble", Static)
        line.display = bool(sentence)
        line.update(Content.assemble((WARNING.glyph, WARNING.style), " ", clean(sentence)))
