"""Keys, help and the command palette."""

from __future__ import annotations

import os
import sys
import threading

import pytest

from hostsight.errors import HostsightError
from tests.console.fake import FakeSource
from tests.console.screen import LARGE, SMALL, console, shown, until
from tui.app import show
from tui.episodes import Episodes
from tui.help import Help, help_text
from tui.overview import Overview


@pytest.mark.parametrize("key", ["question_mark", "f1"])
async def test_help_lists_what_the_binding_registry_holds(key: str) -> None:
    app = console()
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("2")
        await shown(pilot, "1 episode")
        words = help_text(app, app.screen).plain
        for line in (
            "/               Filter by words",
            "s               Sort: newest, severest, highest score, longest, host,\n                  subsystem",
            "f               Pause",
        ):
            assert line in words
        await pilot.press(key)
        await shown(pilot, "Help", "Stretches of time in which a host left its usual behaviour")
        await pilot.press("escape")
        assert isinstance(app.screen, Episodes)


async def test_every_binding_has_words() -> None:
    app = console()
    async with app.run_test(size=SMALL) as pilot:
        for key in ("1", "2", "3"):
            app.action_view({"1": "overview", "2": "episodes", "3": "query"}[key])
            await pilot.pause()
            for active in app.screen.active_bindings.values():
                assert active.binding.description or active.binding.system, active.binding


async def test_a_dialog_leaves_what_is_below_it_in_sight() -> None:
    app = console()
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, "interconnect")
        await pilot.press("t")
        await shown(pilot, "Time range", "gpu01  ● live", "Open episodes  1")


async def test_help_is_not_opened_twice() -> None:
    app = console()
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, "interconnect")
        await pilot.press("f1", "f1")
        await until(pilot, lambda: isinstance(app.screen, Overview))
        await pilot.press("f1")
        assert sum(isinstance(screen, Help) for screen in app.screen_stack) == 1


async def test_the_key_line_always_offers_help() -> None:
    app = console()
    async with app.run_test(size=(24, 10)) as pilot:
        screen = await shown(pilot, "? Help")
        assert "q Quit" not in screen


async def test_the_palette_leads_to_every_view() -> None:
    app = console()
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, "interconnect")
        await pilot.press("ctrl+p")
        await shown(pilot, "Every host, live", "What was out of the ordinary")
        titles = [command.title for command in app.get_system_commands(app.screen)]
        assert titles == [
            "Overview",
            "Episodes",
            "SQL",
            "Follow or pause",
            "Time range",
            "Help",
            "Theme",
            "Quit",
        ]


async def test_a_click_on_the_key_line_does_what_the_key_does() -> None:
    app = console()
    async with app.run_test(size=SMALL) as pilot:
        screen = await shown(pilot, "Enter Open  1 Overview  2 Episodes")
        column = screen.splitlines()[-1].index("2 Episodes")
        await pilot.click(offset=(column + 1, 23))
        await until(pilot, lambda: isinstance(app.screen, Episodes))


async def test_the_console_ends_with_what_it_was_started_for() -> None:
    ended = threading.Event()
    app = console(ended=ended)
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, "interconnect")
        ended.set()
        app.beat()
        await until(pilot, lambda: not app.is_running or app._exit)


async def test_without_colour_every_state_still_has_glyph_and_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "NO_COLOR", "1")
    app = console(FakeSource())
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, "■ critical", "● normal", "● LIVE")
        assert app.no_color


def test_a_console_that_broke_is_a_failure_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    app = console()
    monkeypatch.setattr(app, "run", lambda: None)
    show(app)
    monkeypatch.setattr(app, "_return_code", 1)
    with pytest.raises(HostsightError, match="the console broke"):
        show(app)


@pytest.mark.parametrize(
    ("key", "module"), [("3", "tui.query"), ("question_mark", "tui.help"), ("t", "tui.prompt")]
)
async def test_what_cannot_be_imported_is_said_and_the_console_goes_on(
    monkeypatch: pytest.MonkeyPatch, key: str, module: str
) -> None:
    app = console()
    async with app.run_test(size=LARGE) as pilot:
        await shown(pilot, "busy")
        monkeypatch.setitem(sys.modules, module, None)
        await pilot.press(key)
        await until(pilot, lambda: len(app._notifications) == 1)
        (said,) = app._notifications
        assert said.message.startswith(f"this cannot be shown (import of {module}")
        assert said.message.endswith("start it again")
        monkeypatch.undo()
        await pilot.press("2")
        await shown(pilot, "1 episode")
