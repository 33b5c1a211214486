"""The list of episodes."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.console.fake import EPISODE, HOST, FakeSource, many
from tests.console.screen import LARGE, SMALL, console, shown, until
from tui.episode import EpisodeView
from tui.episodelist import EpisodeList
from tui.overview import Overview
from tui.source import HostStatus


async def test_ten_thousand_episodes_scroll_to_the_last() -> None:
    app = console(FakeSource(rows=many(10_000)))
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("2")
        await shown(pilot, "10,000 episodes in 24h, newest first")
        await pilot.press("end")
        listing = app.screen.query_one(EpisodeList)
        assert listing.cursor == 9_999
        await until(pilot, lambda: listing.scroll_offset.y > 9_900)
        await pilot.press("pageup", "home")
        assert listing.cursor == 0


async def test_the_filter_narrows_while_typing_and_escape_puts_it_away() -> None:
    app = console(FakeSource(rows=many(12)))
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("2")
        await shown(pilot, "12 episodes")
        await pilot.press("slash", *"critical", "enter")
        screen = await shown(pilot, "4 of 12 episodes")
        assert "◆ info" not in screen
        assert app.screen.query_one(EpisodeList).has_focus
        await pilot.press("escape")
        await shown(pilot, "12 episodes", "◆ info")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, Overview))


async def test_sorting_keeps_the_cursor_on_its_episode() -> None:
    app = console(FakeSource(rows=many(12)))
    async with app.run_test(size=LARGE) as pilot:
        await pilot.press("2")
        await shown(pilot, "12 episodes in 24h, newest first")
        listing = app.screen.query_one(EpisodeList)
        await pilot.press("down", "down", "down", "s")
        await shown(pilot, "severest first")
        assert listing.current == many(12)[3]
        assert [row.severity for row in listing.rows] == ["critical"] * 4 + ["warning"] * 4 + ["info"] * 4


async def test_a_new_episode_does_not_move_the_cursor_from_its_own() -> None:
    source = FakeSource(rows=many(3))
    app = console(source)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("2")
        await shown(pilot, "3 episodes")
        await pilot.press("down")
        listing = app.screen.query_one(EpisodeList)
        held = listing.current
        source.rows = [EPISODE, *many(3)]
        app.beat()
        await shown(pilot, "4 episodes")
        assert listing.current == held
        assert listing.cursor == 2


async def test_no_episodes_says_so() -> None:
    app = console(FakeSource(rows=()))
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("2", "enter")
        await shown(pilot, "No episodes in 24h; t chooses another time range")


async def test_a_time_range_is_chosen_in_the_one_grammar() -> None:
    app = console()
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("2")
        await shown(pilot, "1 episode in 24h")
        await pilot.press("t", *"bogus", "enter")
        await shown(pilot, "'bogus' is not a time; write now, now-6h")
        await pilot.press("ctrl+u", *"now-6h..now-1h", "enter")
        await shown(pilot, "1 episode in now-6h..now-1h", "‖ PAUSED")


async def test_a_click_opens_the_row() -> None:
    app = console()
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("2")
        await shown(pilot, "1 episode")
        await pilot.click(EpisodeList, offset=(5, 1))
        await shown(pilot, "Episodes › Episode 7")
        assert isinstance(app.screen, EpisodeView)


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        ((), "there is no telemetry yet: start `hostsight up`"),
        ((HOST,), "t chooses another time range"),
        ((HOST, replace(HOST, host="a[b]", phase="learning")), "a[b] is still learning what is normal"),
        ((replace(HOST, phase="learning"),) * 3, "3 hosts are still learning what is normal"),
    ],
)
async def test_an_empty_list_says_what_that_means(hosts: tuple[HostStatus, ...], words: str) -> None:
    app = console(FakeSource(rows=(), hosts=hosts))
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("2")
        await shown(pilot, f"No episodes in 24h; {words}")


async def test_the_key_line_names_the_ways_out_of_the_filter() -> None:
    app = console()
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("2")
        await shown(pilot, "1 episode")
        await pilot.press("slash")
        screen = await shown(pilot, "Enter To the list  Esc Back")
        assert screen.splitlines()[1].startswith(" ▌words   host:gpu01")


@pytest.mark.parametrize(
    ("size", "row"),
    [
        (SMALL, "› ■ critical  07:58:30     open 1 min  cpu: busy is 97 %, usually 4 %"),
        (
            LARGE,
            "› ■ critical  7      07:58:30      open 1 min 29 s   gpu01         cpu             9.5  cpu: busy",
        ),
    ],
)
async def test_a_row_says_whether_the_episode_is_open_and_wide_ones_its_number(
    size: tuple[int, int], row: str
) -> None:
    app = console()
    async with app.run_test(size=size) as pilot:
        await pilot.press("2")
        await shown(pilot, row)
