"""LIVE and PAUSED."""

from __future__ import annotations

import pytest

from hostsight.clock import SECOND_NS
from hostsight.errors import UsageError
from hostsight.timerange import TimeRange
from tests.console.fake import NOW
from tui.follow import Follow

HOUR = 3600 * SECOND_NS


def test_a_range_that_ends_now_moves_with_the_clock() -> None:
    follow = Follow("1h")
    assert follow.live
    assert follow.span(NOW) == TimeRange(NOW - HOUR, NOW)
    assert follow.span(NOW + 5) == TimeRange(NOW + 5 - HOUR, NOW + 5)


def test_a_paused_range_stands_still_and_moves_again() -> None:
    follow = Follow("1h")
    follow.toggle(NOW)
    assert follow.span(NOW + HOUR) == TimeRange(NOW - HOUR, NOW)
    follow.toggle(NOW + HOUR)
    assert follow.span(NOW + HOUR) == TimeRange(NOW, NOW + HOUR)


def test_a_range_of_the_past_is_paused_and_goes_on_with_its_length() -> None:
    follow = Follow()
    follow.choose("now-6h..now-4h", NOW)
    assert follow.span(NOW + HOUR) == TimeRange(NOW - 6 * HOUR, NOW - 4 * HOUR)
    follow.toggle(NOW)
    assert follow.live
    assert follow.text == "2h"


@pytest.mark.parametrize(
    "wrong",
    ["", "5", "yesterday", "now..now", "now..now-1h", "now+1h..now+2h", "now+9999999w.."],
)
def test_a_range_that_makes_no_sense_changes_nothing(wrong: str) -> None:
    follow = Follow("15m")
    with pytest.raises(UsageError):
        follow.choose(wrong, NOW)
    assert follow.text == "15m"
    assert follow.live


def test_a_range_that_ends_in_the_future_is_live_up_to_now() -> None:
    follow = Follow()
    follow.choose("now-1h..now+1h", NOW)
    assert follow.live
    assert follow.span(NOW + HOUR) == TimeRange(NOW, NOW + HOUR)
