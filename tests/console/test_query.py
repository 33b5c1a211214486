"""The SQL view."""

from __future__ import annotations

from msgspec.structs import replace
from textual.widgets import TextArea

from hostsight.errors import UsageError
from tests.console.fake import RESULT, FakeSource
from tests.console.screen import LARGE, SMALL, console, shown, text, until
from tui.app import Console
from tui.history import History
from tui.overview import Overview
from tui.resulttable import unique


def write(app: Console, sql: str) -> None:
    app.screen.query_one(TextArea).text = sql


async def test_ctrl_j_runs_what_the_editor_holds() -> None:
    source = FakeSource()
    app = console(source)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("3")
        await shown(pilot, "^j Run")
        write(app, "SELECT 42\n")
        await pilot.press("ctrl+j")
        screen = await shown(pilot, "3 rows in 0.25 s", "busy_percent")
        assert source.texts == ["SELECT 42"]
        assert "[red]x[/red]" in screen
        assert "∅" in screen


async def test_more_rows_than_are_shown_is_said() -> None:
    app = console(FakeSource(outcome=replace(RESULT, truncated=True)))
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("3", "ctrl+j")
        await shown(pilot, "▲ First 3 rows in 0.25 s; there are more: add LIMIT, or use `hostsight sql`")


async def test_a_refusal_is_one_sentence() -> None:
    app = console(FakeSource(outcome=UsageError("COPY is not allowed: a query may only read")))
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("3", "ctrl+j")
        await shown(pilot, "■ COPY is not allowed: a query may only read")


async def test_an_unexpected_error_is_said_and_another_query_can_run() -> None:
    source = FakeSource(outcome=ImportError("no module named x"))
    app = console(source)
    async with app.run_test(size=LARGE) as pilot:
        await pilot.press("3", "ctrl+j")
        await shown(pilot, "■ unexpected error, ImportError: no module named x")
        source.outcome = RESULT
        await pilot.press("ctrl+j")
        await shown(pilot, "3 rows in 0.25 s")


async def test_escape_stops_a_running_query_and_a_second_leaves() -> None:
    source = FakeSource(outcome=None)
    app = console(source)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("3", "ctrl+j")
        await shown(pilot, "^c Stop")
        await pilot.press("escape")
        await shown(pilot, "▲ the query was cancelled")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, Overview))


async def test_ctrl_c_stops_a_running_query_and_other_views_stay_alive_meanwhile() -> None:
    source = FakeSource(outcome=None)
    app = console(source)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("3", "ctrl+j")
        await shown(pilot, "^c Stop")
        app.action_view("overview")
        await shown(pilot, "interconnect")
        app.action_view("query")
        await shown(pilot, "^c Stop")
        await pilot.press("ctrl+c")
        await shown(pilot, "the query was cancelled")
        assert source.started is not None
        assert source.started.cancelled.is_set()


async def test_letters_are_typed_not_obeyed_while_the_editor_has_the_focus() -> None:
    app = console()
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("3")
        screen = await shown(pilot, "^j Run")
        assert "q Quit" not in screen
        write(app, "")
        await pilot.press(*"q123f?")
        assert app.screen.query_one(TextArea).text == "q123f?"


async def test_an_earlier_query_comes_back() -> None:
    history = History()
    for sql in ("SELECT 'older'", "SELECT 'newer'"):
        history.add(sql)
    app = console(history=history)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("3")
        await shown(pilot, "^j Run")
        await pilot.press("ctrl+r")
        await shown(pilot, "SELECT 'older'", "SELECT 'newer'")
        await pilot.press(*"old", "enter")
        await until(pilot, lambda: app.screen.query(TextArea).first().text == "SELECT 'older'")


async def test_the_schema_is_beside_the_editor_and_enter_writes_its_names() -> None:
    app = console()
    async with app.run_test(size=LARGE) as pilot:
        await pilot.press("3")
        await shown(pilot, "samples", "channel_id bigint")
        write(app, "")
        app.screen.query_one("#schema").focus()
        await pilot.press("down", "down", "enter")
        assert app.screen.query_one(TextArea).text == "channel_id"


async def test_a_narrow_screen_shows_the_schema_when_asked() -> None:
    app = console()
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("3")
        screen = await shown(pilot, "^j Run")
        assert "channel_id bigint" not in screen
        await pilot.press("f2")
        await shown(pilot, "channel_id bigint")


async def test_nothing_runs_without_a_statement() -> None:
    source = FakeSource()
    app = console(source)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("3")
        await shown(pilot, "^j Run")
        write(app, " \n ")
        await pilot.press("ctrl+j")
        assert source.texts == []
        assert "^j runs the query; F2 lists views and columns" in text(app)


def test_columns_of_one_name_are_told_apart() -> None:
    assert unique(["n", "n", "m", "n"]) == ["n", "n:2", "m", "n:3"]
    assert unique(["n", "n", "n:2"]) == ["n", "n:2", "n:2:2"]
