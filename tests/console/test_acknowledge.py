"""`a`: somebody is at an episode."""

from __future__ import annotations

from msgspec.structs import replace

from hostsight.errors import UsageError
from tests.console.fake import EPISODE, FakeSource, many
from tests.console.screen import LARGE, SMALL, console, shown, until


async def test_a_acknowledges_the_episode_under_the_cursor_and_again_takes_it_back() -> None:
    source = FakeSource(rows=many(3))
    app = console(source)
    async with app.run_test(size=LARGE) as pilot:
        await pilot.press("2")
        await shown(pilot, "3 episodes")
        await pilot.press("down", "a")
        await shown(pilot, "acknowledged · ")
        assert source.acknowledged == [many(3)[1].id]
        await pilot.press("a")
        await until(pilot, lambda: len(source.acknowledged) == 2)
        await until(pilot, lambda: not any(row.acknowledged for row in source.rows))


async def test_a_acknowledges_the_episode_that_is_shown_in_full() -> None:
    source = FakeSource()
    app = console(source)
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, "interconnect")
        app.show_episode(7)
        await shown(pilot, "explained by")
        await pilot.press("a")
        await shown(pilot, "acknowledged · cpu: busy")


async def test_what_keeps_it_from_being_acknowledged_is_said() -> None:
    source = FakeSource()
    app = console(source)
    async with app.run_test(size=LARGE) as pilot:
        await pilot.press("2")
        await shown(pilot, "1 episode")
        source.refusal = UsageError("episode 7 is over")
        await pilot.press("a")
        await until(pilot, lambda: "episode 7 is over" in [str(each.message) for each in app._notifications])


async def test_muted_episodes_are_listed_but_do_not_count_as_open() -> None:
    source = FakeSource(rows=[replace(EPISODE, muted=True, cause="backup")])
    app = console(source)
    async with app.run_test(size=LARGE) as pilot:
        assert "usually 4 %" not in await shown(pilot, "interconnect")
        await pilot.press("2")
        await shown(pilot, "muted, backup · cpu: busy")
