"""How often the console reads again."""

from __future__ import annotations

from hostsight.clock import FakeClock
from tui.pace import Pace


def test_what_takes_a_second_is_done_again_after_four_at_a_fifth_of_the_time() -> None:
    clock = FakeClock()
    pace = Pace(clock, share=0.2)
    with pace.within():
        clock.advance(1)
    due = []
    for _ in range(5):
        due.append(pace.due)
        clock.advance(1)
    assert due == [False, False, False, False, True]


def test_what_takes_no_time_is_always_due() -> None:
    pace = Pace(FakeClock(), share=0.01)
    with pace.within():
        pass
    assert pace.due
