"""The application: which view is shown, the time range, and the pulse that keeps it fresh."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from importlib import import_module
from threading import Event
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from hostsight.clock import SECOND_NS, Clock, SystemClock
from hostsight.errors import HostsightError
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from hostsight.timerange import TimeRange
from tui.background import Background
from tui.follow import Follow
from tui.history import History, user_history
from tui.overview import Overview
from tui.source import Pulse, Source
from tui.text import clean
from tui.view import View

P = ParamSpec("P")
T = TypeVar("T")
PULSE_SECONDS = 1.0
DEFAULT_RANGES = {"overview": "5m"}
KEY_NAMES = {
    "enter": "Enter",
    "escape": "Esc",
    "space": "Space",
    "tab": "Tab",
    "shift+tab": "Shift+Tab",
    "backspace": "Backspace",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
}


def _said(method: Callable[Concatenate[Console, P], None]) -> Callable[Concatenate[Console, P], None]:
    """What cannot be imported, as after an upgrade under a running console, is said instead of ending it."""

    @wraps(method)
    def guarded(console: Console, /, *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            method(console, *args, **kwargs)
        except ImportError as error:
            console.notify(
                f"this cannot be shown ({clean(str(error))}); leave the console and start it again",
                severity="error",
                markup=False,
            )

    return guarded


def _episodes() -> View:
    from tui.episodes import Episodes

    return Episodes()


def _query() -> View:
    from tui.query import QueryView

    return QueryView()


class Console(App[None]):
    """Reads through `source` alone; draws nothing that it has to wait for."""

    TITLE = "hostsight"
    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = {
        "overview": Overview,
        "episodes": _episodes,
        "query": _query,
    }
    DEFAULT_MODE = "overview"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "view('overview')", "Overview", tooltip="Overview: every host, live"),
        Binding("2", "view('episodes')", "Episodes", tooltip="Episodes: what was out of the ordinary"),
        Binding("3", "view('query')", "SQL", tooltip="SQL over samples, features, scores and episodes"),
        Binding("f", "pause", "Pause", tooltip="Pause: the time range stands still"),
        Binding("f", "follow", "Follow", tooltip="Follow: the time range moves with the clock"),
        Binding("t", "range", "Range", tooltip="Time range, such as 15m or now-6h..now-1h"),
        Binding("question_mark,f1", "help", "Help", tooltip="These keys", key_display="?"),
        Binding("q", "quit", "Quit", tooltip="Leave the console"),
        Binding("ctrl+q", "quit", "Quit", tooltip="Leave the console", show=False),
    ]

    def __init__(
        self,
        source: Source,
        *,
        clock: Clock | None = None,
        rows: int = 1000,
        history: History | None = None,
        ended: Event | None = None,
    ) -> None:
        super().__init__()
        self._ended = ended
        self.source = source
        self.clock = clock or SystemClock()
        self._follows = {mode: Follow(DEFAULT_RANGES.get(mode, "24h")) for mode in self.MODES}
        self.rows = rows
        self.history = history or History()
        self._newest_ns: int | None = None
        self._background = Background("console-reader")
        self.animation_level = "none"

    def on_mount(self) -> None:
        self.set_interval(PULSE_SECONDS, self.beat)

    def beat(self) -> None:
        """Once a second: the age of data grows, and a live view reads again."""
        if self._ended is not None and self._ended.is_set():
            self.exit()
        view = self.view
        if view is None:
            return
        view.update_header()
        if self.follow.live:
            view.keep_fresh()

    @property
    def view(self) -> View | None:
        """The view that is shown, also below a dialog."""
        return next((screen for screen in reversed(self.screen_stack) if isinstance(screen, View)), None)

    async def read(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `function` on the reading thread."""
        return await self._background.run(function, *args, **kwargs)

    @property
    def follow(self) -> Follow:
        """The range of the present mode: episodes are rare, so their list looks further back than the overview."""
        return self._follows[self.current_mode]

    def span(self) -> TimeRange:
        return self.follow.span(self.clock.wall_ns())

    def saw(self, pulse: Pulse) -> None:
        self._newest_ns = max(
            (host.newest_ns for host in pulse.hosts if host.newest_ns is not None), default=None
        )

    def age_seconds(self) -> float | None:
        if self._newest_ns is None:
            return None
        return max(0.0, (self.clock.wall_ns() - self._newest_ns) / SECOND_NS)

    @_said
    def action_view(self, mode: str) -> None:
        if self.current_mode != mode:
            import_module(f"tui.{mode}")  # before the present view is left
            self.switch_mode(mode)
        else:
            self.call_later(self._to_base)

    async def _to_base(self) -> None:
        while len(self.screen_stack) > 1:
            await self.pop_screen()

    def get_key_display(self, binding: Binding) -> str:
        return binding.key_display or KEY_NAMES.get(binding.key) or super().get_key_display(binding)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in {"pause", "follow"}:
            return self.follow.live == (action == "pause")
        return super().check_action(action, parameters)

    def action_pause(self) -> None:
        self._toggle()

    def action_follow(self) -> None:
        self._toggle()

    def _toggle(self) -> None:
        self.follow.toggle(self.clock.wall_ns())
        self._range_changed()

    @_said
    def action_range(self) -> None:
        from tui.prompt import Prompt

        self.push_screen(
            Prompt(
                "Time range",
                self.follow.text,
                hint="15m   now-6h..now-1h   2026-01-31T12:00:00Z..   (UTC)",
                accept=lambda text: self.follow.choose(text, self.clock.wall_ns()),
            ),
            lambda accepted: self._range_changed() if accepted else None,
        )

    def _range_changed(self) -> None:
        self.refresh_bindings()
        if self.view is not None:
            self.view.update_header()
            self.view.reload()

    @_said
    def action_help(self) -> None:
        from tui.help import Help

        if not isinstance(self.screen, Help):
            self.push_screen(Help(self.screen))

    @_said
    def show_episode(self, episode_id: int) -> None:
        from tui.episode import EpisodeView

        self.push_screen(EpisodeView(episode_id))

    @_said
    def show_episodes_of(self, host: str) -> None:
        """The list of episodes, filtered to `host`."""
        from tui.episodes import Episodes

        async def narrow() -> None:
            await self._to_base()
            if isinstance(self.screen, Episodes):
                self.screen.filter(f"host:{host}")

        self.switch_mode("episodes")
        self.call_later(narrow)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        yield SystemCommand("Overview", "Every host, live", lambda: self.action_view("overview"))
        yield SystemCommand("Episodes", "What was out of the ordinary", lambda: self.action_view("episodes"))
        yield SystemCommand(
            "SQL", "Query samples, features, scores and episodes", lambda: self.action_view("query")
        )
        yield SystemCommand("Follow or pause", "Move with the clock, or stand still", self._toggle)
        yield SystemCommand("Time range", "Choose what is shown", self.action_range)
        yield SystemCommand("Help", "Keys of this view", self.action_help)
        yield SystemCommand("Theme", "Change the colours", self.action_change_theme)
        yield SystemCommand("Quit", "Leave the console", self.exit)


def run_console(data: DataFolder, settings: Settings, *, ended: Event | None = None) -> None:
    """Show the console of `data` until the person leaves it, or `ended` is set; HostsightError where it broke."""
    from tui.live import LiveSource

    source = LiveSource(data, settings)
    show(Console(source, rows=settings.sql.rows, history=user_history(), ended=ended))


def show(console: Console) -> None:
    """Textual prints what broke an application, and returns as if nothing were wrong."""
    console.run()
    if console.return_code:
        raise HostsightError(
            "the console broke at the error above, which is a defect; telemetry and episodes are kept: start it again"
        )
