"""Data that tries to be markup, to move the cursor, or to be too much."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from hostsight.errors import StorageError
from tests.console.fake import ATTRIBUTION, DETAIL, EPISODE, HOST, NOW, RESULT, VIEWS, FakeSource
from tests.console.screen import SMALL, console, shown, text
from tui.source import Attribution, DetectorVote, Headline, ResultColumn, Series, View

HOSTILE = [
    "[bold red]x[/]",
    "[/nothing]",
    "\x1b[2J\x1b[31mred",
    "\x9b31m\x00\x07",
    "宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽",
    "a\u202eb\u200bc",
    "e\u0301" * 50,
    "👩‍👩‍👧 family",
    "\ud800",
    "$foreground @click=app.quit",
    "x" * 10_000,
    "",
]


def source(word: str) -> FakeSource:
    channel = Attribution(word, word, word, math.nan, math.nan, math.inf, word, "high")
    episode = replace(
        EPISODE, host=word, subsystem=word, device=word, metric=word, summary=word,
        score=math.nan, confidence=math.nan,
    )  # fmt: skip
    return FakeSource(
        hosts=(replace(HOST, host=word, activity=word, progress=math.nan, phase="learning"),),
        problems=(word,),
        rows=(episode,),
        detail=replace(
            DETAIL,
            episode=episode,
            model=word,
            attribution=(channel, *ATTRIBUTION),
            detectors=(DetectorVote(word, math.nan, 0.0),),
        ),
        lines=(Headline(word, word, word, Series(NOW, 1, [math.nan, math.inf, -5.0])),),
        outcome=replace(
            RESULT,
            columns=(ResultColumn(word, word, False), ResultColumn(word, "", True)),
            cells=((word, None, word), (word, word, None)),
        ),
    )


def assert_harmless(screen: str) -> None:
    assert all(character == "\n" or character.isprintable() for character in screen)
    assert "\u202e" not in screen


@pytest.mark.parametrize("word", HOSTILE)
async def test_every_view_shows_it_literally(word: str) -> None:
    app = console(source(word))
    async with app.run_test(size=SMALL) as pilot:
        assert_harmless(await shown(pilot, "Open episodes  1"))
        await pilot.press("2")
        assert_harmless(await shown(pilot, "1 episode in 24h"))
        await pilot.press("enter")
        assert_harmless(await shown(pilot, "explained by", "detectors vote"))
        await pilot.press("f1")
        assert_harmless(await shown(pilot, "Help"))
        await pilot.press("escape", "3")
        await shown(pilot, "^j Run")
        await pilot.press("ctrl+j")
        assert_harmless(await shown(pilot, "3 rows"))


async def test_markup_in_a_host_name_is_text() -> None:
    app = console(source("[bold red]x[/]"))
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, "[bold red]x[/]")


async def test_an_error_with_markup_is_text() -> None:
    app = console(FakeSource(failure=StorageError("cannot read [/tmp/a[b]\x1b[31m")))
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, "cannot read [/tmp/a[b]�[31m")


@pytest.mark.parametrize("size", [(1, 1), (20, 5), (300, 100)])
async def test_no_size_of_the_terminal_is_too_strange(size: tuple[int, int]) -> None:
    app = console()
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, "interconnect")
        await pilot.resize_terminal(*size)
        for keys in (["2"], ["enter"], ["f1"], ["escape"], ["3"], ["ctrl+j"]):
            await pilot.press(*keys)
            await pilot.pause()
        await pilot.resize_terminal(*SMALL)
        await shown(pilot, "3 rows")


async def test_a_schema_of_strange_names_is_text() -> None:
    hostile = FakeSource()
    hostile.views = lambda: (*VIEWS, View("[red]v[/]", (("a\x1b[0m", "T"),)))  # type: ignore[method-assign]  # a fake's answer
    app = console(hostile)
    async with app.run_test(size=(160, 50)) as pilot:
        await pilot.press("3")
        await shown(pilot, "[red]v[/]", "a�[0m")
        assert "\x1b" not in text(app)
