"""One episode in full."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hostsight.clock import SECOND_NS
from tests.console.fake import DETAIL, EPISODE, NOW, FakeSource
from tests.console.screen import LARGE, SMALL, console, shown, text, until
from tui.app import Console
from tui.attribution import AttributionTree, nodes
from tui.episode import EpisodeView, around, tally
from tui.source import Attribution


def opened(source: FakeSource | None = None) -> Console:
    app = console(source)
    app.call_later(lambda: app.show_episode(7))
    return app


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_summary_course_and_attribution_fit(size: tuple[int, int]) -> None:
    app = opened()
    async with app.run_test(size=size) as pilot:
        screen = await shown(
            pilot, "■ critical  cpu: busy is 97 %, usually 4 %", "confidence 75 %", "cpu host busy_percent"
        )
        row = next(line for line in screen.splitlines() if "↑ busy_percent" in line)
        assert row.split()[-5:] == ["%", "4.2", "%", "97.1", "%"]
        assert "━" in screen


@pytest.mark.parametrize("width", [78, 158])
def test_values_of_long_units_stand_apart(width: int) -> None:
    row = Attribution("storage", "vda", "flushes_per_s", 0.001, 11.4, 84.3, "requests/s", "high")
    leaf = nodes([row], frozenset())[-1]
    line = AttributionTree().line(leaf, width)
    assert line.cell_length <= width
    assert line.plain.split()[-5:] == ["%", "11.4", "requests/s", "84.3", "requests/s"]


async def test_a_closed_episode_lasts_until_it_was_last_seen() -> None:
    episode = replace(EPISODE, last_seen_ns=EPISODE.opened_ns + 56 * SECOND_NS, closed_ns=NOW)
    app = opened(FakeSource(detail=replace(DETAIL, episode=episode)))
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, " UTC for 56 s")


async def test_the_course_is_that_of_the_metric_under_the_cursor() -> None:
    app = opened()
    async with app.run_test(size=LARGE) as pilot:
        await shown(pilot, "cpu host busy_percent", "free_bytes")
        app.screen.query_one(AttributionTree).cursor = 7
        await shown(pilot, "memory node0 free_bytes", "expected 61 GB")


async def test_a_part_folds_and_unfolds() -> None:
    app = opened()
    async with app.run_test(size=LARGE) as pilot:
        await shown(pilot, "user_percent")
        await pilot.press("home", "enter")
        await until(pilot, lambda: "user_percent" not in text(app))
        await pilot.press("right")
        await shown(pilot, "user_percent")


async def test_left_on_a_metric_folds_its_device() -> None:
    app = opened()
    async with app.run_test(size=LARGE) as pilot:
        await shown(pilot, "↑ busy_percent")
        await pilot.press("left")
        await until(pilot, lambda: "↑ busy_percent" not in text(app))
        current = app.screen.query_one(AttributionTree).current
        assert current is not None
        assert current.path == ("cpu", "host")


async def test_an_episode_that_is_gone_says_so() -> None:
    source = FakeSource(detail=replace(DETAIL, episode=replace(EPISODE, id=99)))
    app = opened(source)
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, "there is no episode 7; `hostsight anomalies` lists them")
        await pilot.press("escape")
        await shown(pilot, "hostsight › Overview ")


async def test_copying_gives_plain_text() -> None:
    app = opened()
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, "busy_percent")
        await pilot.press("y")
        assert " 50 %  cpu host busy_percent: 97.1 %, expected 4.2" in app.clipboard
        assert "Detectors of model gpu01-3" in app.clipboard


def test_a_short_episode_is_shown_with_a_minute_before_it() -> None:
    closed = replace(
        EPISODE,
        opened_ns=NOW - 600 * SECOND_NS,
        last_seen_ns=NOW - 590 * SECOND_NS,
        closed_ns=NOW - 560 * SECOND_NS,
    )
    span = around(closed, NOW)
    assert span.start_ns == NOW - 660 * SECOND_NS
    assert span.end_ns == NOW - 560 * SECOND_NS


def test_an_open_episode_is_shown_up_to_now() -> None:
    assert around(EPISODE, NOW).end_ns == NOW


async def test_the_cursor_stays_in_sight_when_the_terminal_shrinks() -> None:
    app = opened()
    async with app.run_test(size=LARGE) as pilot:
        await shown(pilot, "read_await_seconds")
        await pilot.press("end")
        await pilot.resize_terminal(80, 16)
        await until(pilot, lambda: "free_bytes" not in text(app) and "› " in text(app))
        await shown(pilot, "≠ read_await_seconds")


@pytest.mark.parametrize(
    ("size", "words", "others"),
    [
        (SMALL, "1 of 2 detectors vote: mahalanobis", "silent"),
        (LARGE, "mahalanobis       ▲ votes   tail 1 in 1,000,000     alarm at 1 %", "detectors vote"),
    ],
)
async def test_the_detectors_take_one_line_where_there_is_little_room(
    size: tuple[int, int], words: str, others: str
) -> None:
    app = opened()
    async with app.run_test(size=size) as pilot:
        screen = await shown(pilot, words)
        assert others not in screen


def test_a_tally_names_no_detector_where_none_votes() -> None:
    silent = tuple(replace(vote, tail_probability=0.5) for vote in DETAIL.detectors)
    assert tally(replace(DETAIL, detectors=silent)) == "0 of 2 detectors vote"


async def test_what_comes_back_to_an_episode_that_was_left_does_no_harm() -> None:
    app = opened()
    async with app.run_test(size=SMALL) as pilot:
        await shown(pilot, "explained by")
        view = app.screen
        assert isinstance(view, EpisodeView)
        await pilot.press("escape")
        await until(pilot, lambda: not view.query("*"))
        view.show_trouble("No nodes match 'Timeline'")
        await view._plot_or_say()
        screen = await shown(pilot, "Open episodes  1")
        assert "No nodes" not in screen
