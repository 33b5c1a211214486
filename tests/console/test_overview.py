"""The overview, as a person sees it."""

from __future__ import annotations

import math
from typing import Any

import pytest
from msgspec.structs import replace

from hostsight.clock import SECOND_NS
from hostsight.errors import StorageError
from hostsight.timerange import TimeRange
from tests.console.fake import EPISODE, HOST, NOW, FakeSource, wave
from tests.console.screen import LARGE, SMALL, console, shown, text, until
from tui.episode import EpisodeView
from tui.episodes import Episodes
from tui.hostpanel import HostPanel
from tui.source import Headline, Series

LEARNING = replace(
    HOST,
    phase="learning",
    progress=0.48,
    activity="learning what is normal here: 86 of 178 windows, 92 s to go",
)


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_a_strip_a_subsystem_with_value_picture_and_state(size: tuple[int, int]) -> None:
    app = console()
    async with app.run_test(size=size) as pilot:
        screen = await shown(pilot, "gpu01", "interconnect", "storage", "● normal", "■ critical")
        cpu = next(line for line in screen.splitlines() if "busy" in line and "cpu" in line)
        assert "81.8 % busy" in cpu
        assert "█" in cpu
        assert "■ critical" in cpu  # the open episode is the CPU's
        assert max(map(len, screen.splitlines())) == size[0]


@pytest.mark.parametrize(("size", "words"), [(SMALL, "from remote "), (LARGE, "peak 2k pages/s")])
async def test_the_longest_label_fits_and_wide_strips_say_their_peak(
    size: tuple[int, int], words: str
) -> None:
    span = TimeRange(NOW - 300 * SECOND_NS, NOW)
    app = console(
        FakeSource(lines=[Headline("interconnect", "from remote", "pages/s", wave(span, peak=2000))])
    )
    async with app.run_test(size=size) as pilot:
        screen = await shown(pilot, words)
        assert "peak" not in screen or size == LARGE


async def test_the_warm_up_says_how_far_it_is_and_what_it_does() -> None:
    app = console(FakeSource(hosts=(LEARNING,), rows=()))
    async with app.run_test(size=SMALL) as pilot:
        screen = await shown(
            pilot, "◌ warm-up", "48 %", "learning what is normal here: 86 of 178 windows, 92 s to go"
        )
        assert "━" * 10 + "─" * 10 in screen
        assert "No open episodes" in screen


async def test_what_is_followed_but_no_longer_comes_is_stale_and_its_age_always_shown() -> None:
    app = console(FakeSource(hosts=(replace(HOST, newest_ns=NOW - 75 * SECOND_NS),)))
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, "◇ STALE", "data 1 min 15 s old")
        await pilot.press("2")
        await shown(pilot, "Episodes", "◇ STALE", "data 1 min 15 s old")
        await pilot.press("f")
        await shown(pilot, "‖ PAUSED", "data 1 min 15 s old")


async def test_while_data_comes_the_view_is_live() -> None:
    app = console()
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, "● LIVE", "data 1 s old")


@pytest.mark.parametrize("change", [{"newest_ns": NOW - 75 * SECOND_NS}, {"phase": "no data"}])
async def test_data_that_no_longer_comes_is_stale_not_normal(change: dict[str, Any]) -> None:
    app = console(FakeSource(hosts=(replace(HOST, **change),), rows=()))
    async with app.run_test(size=SMALL) as pilot:
        screen = await shown(pilot, "○ stale")
        assert "normal" not in screen


async def test_pausing_keeps_the_range_while_time_goes_on() -> None:
    source = FakeSource()
    app = console(source)
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, "● LIVE", "f Pause")
        await pilot.press("f")
        await shown(pilot, "‖ PAUSED", "f Follow")
        app.clock.sleep(60)
        count = len(source.spans)
        app.beat()
        await shown(pilot, "data 1 min 1 s old")
        assert len(source.spans) == count
        await pilot.press("f")
        await until(pilot, lambda: source.spans[-1].end_ns == NOW + 60 * SECOND_NS)


async def test_problems_are_sentences_on_the_overview() -> None:
    app = console(FakeSource(problems=("the agent has stopped; start it with `hostsight agent`",)))
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, "▲ the agent has stopped; start it with `hostsight agent`")


async def test_without_telemetry_it_says_what_to_start() -> None:
    app = console(FakeSource(hosts=(), rows=()))
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, "No telemetry yet: start `hostsight up`", "○ WAITING  no data yet")


async def test_a_reading_that_fails_is_said_and_the_last_data_stays() -> None:
    source = FakeSource()
    app = console(source)
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, "interconnect")
        source.failure = StorageError("the lake cannot be read; check its rights")
        app.beat()
        screen = await shown(pilot, "▲ the lake cannot be read; check its rights")
        assert "interconnect" in screen
        source.failure = None
        app.beat()
        await until(pilot, lambda: "cannot be read" not in text(app))


async def test_an_unexpected_error_is_said_and_the_console_goes_on() -> None:
    source = FakeSource()
    app = console(source)
    async with app.run_test(size=LARGE) as pilot:
        await shown(pilot, "interconnect")
        source.failure = ImportError("cannot import name 'x' from 'y'")
        app.beat()
        await shown(pilot, "▲ unexpected error, ImportError: cannot import name 'x' from 'y'; if it stays")
        source.failure = None
        app.beat()
        await until(pilot, lambda: "unexpected" not in text(app))


async def test_absent_values_are_shown_as_no_data() -> None:
    lines = (
        Headline("cpu", "busy", "%", Series(NOW - SECOND_NS, SECOND_NS, [math.nan])),
        Headline("network", "rx + tx", "B/s", Series()),
        Headline("storage", "read + write", "B/s", Series(NOW - 2 * SECOND_NS, SECOND_NS, [math.inf, 0.0])),
    )
    app = console(FakeSource(lines=lines, rows=()))
    async with app.run_test(size=SMALL) as pilot:
        screen = await shown(pilot, "storage")
        states = {
            line.lstrip("▌ ").split()[0]: line.rstrip()[-9:]
            for line in screen.splitlines()
            if "○" in line or "●" in line
        }
        assert states["cpu"] == "○ no data"
        assert states["network"] == "○ no data"
        assert states["storage"].endswith("normal")


async def test_a_host_that_is_gone_leaves_the_screen() -> None:
    source = FakeSource(hosts=(HOST, replace(HOST, host="gpu02")))
    app = console(source)
    async with app.run_test(size=LARGE) as pilot:
        await until(pilot, lambda: len(app.query(HostPanel)) == 2)
        source.hosts = (HOST,)
        app.beat()
        await until(pilot, lambda: len(app.query(HostPanel)) == 1)


async def test_strips_grow_with_the_terminal() -> None:
    app = console()
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, "storage")
        small = app.query_one(HostPanel).size.height
        await pilot.resize_terminal(*LARGE)
        await until(pilot, lambda: app.query_one(HostPanel).size.height > small)
        await pilot.resize_terminal(40, 10)
        await until(pilot, lambda: app.query_one(HostPanel).size.height < small)


async def test_enter_goes_into_an_open_episode_and_escape_comes_back() -> None:
    app = console()
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, EPISODE.summary)
        await pilot.press("enter")
        await shown(pilot, "hostsight › Overview › Episode 7", "explained by")
        assert isinstance(app.screen, EpisodeView)
        await pilot.press("escape")
        await shown(pilot, "Open episodes  1")


async def test_enter_on_a_host_lists_its_episodes() -> None:
    source = FakeSource(rows=(EPISODE, replace(EPISODE, id=8, host="other", summary="elsewhere")))
    app = console(source)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: len(app.query(HostPanel)) == 1)
        app.query_one(HostPanel).focus()
        await pilot.press("enter")
        screen = await shown(pilot, "host:gpu01", "1 of 2 episodes")
        assert isinstance(app.screen, Episodes)
        assert "elsewhere" not in screen


async def test_a_beat_before_a_view_is_composed_does_no_harm() -> None:
    app = console(FakeSource())
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, "interconnect")
        app.action_view("query")
        app.beat()
        await shown(pilot, "SQL")
