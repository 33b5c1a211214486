"""Collectors that may block."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsight.clock import FakeClock
from hostsight.errors import NoDataError
from ingest.background import HUNG_SECONDS, BackgroundReader
from ingest.collector import Host
from ingest.reader import LAST_RETRY_SECONDS, Reader
from tests.unit.fakes import SlowCollector, slot

DEADLINE = 20.0


def background(collector: SlowCollector, clock: FakeClock) -> BackgroundReader:
    return BackgroundReader(Reader(collector, Host(Path("/")), clock), clock)


def test_a_reading_is_handed_over_once(clock: FakeClock) -> None:
    one = background(SlowCollector([slot()], [7]), clock)
    assert one.poll(due=True) is None
    assert one.wait(DEADLINE) == pytest.approx([7])
    assert len(one.slots) == 1
    assert one.poll(due=False) is None
    one.close()


def test_polling_does_not_wait_for_a_reading_under_way(clock: FakeClock) -> None:
    collector = SlowCollector([slot()], [7])
    collector.gate.clear()
    one = background(collector, clock)
    one.poll(due=True)
    assert collector.begun.wait(DEADLINE)
    assert one.poll(due=True) is None
    assert one.poll(due=True) is None
    collector.gate.set()
    assert one.wait(DEADLINE) == pytest.approx([7])
    assert collector.reads == 1
    one.close()


def test_one_that_does_not_return_is_reported_until_it_does(clock: FakeClock) -> None:
    collector = SlowCollector([slot()], [7])
    collector.gate.clear()
    one = background(collector, clock)
    one.poll(due=True)
    clock.advance(HUNG_SECONDS + 5)
    assert (one.condition.state, one.condition.error) == ("failed", "has not returned for 15 s")
    collector.gate.set()
    one.wait(DEADLINE)
    assert one.condition.state == "ok"
    one.close()


def test_one_that_is_absent_is_left_to_rest(clock: FakeClock) -> None:
    collector = SlowCollector()
    collector.slots = NoDataError("nothing here")
    one = background(collector, clock)
    one.poll(due=True)
    one.wait(DEADLINE)
    assert one.condition.state == "absent"
    one.poll(due=True)
    resting = not one.pending
    clock.advance(LAST_RETRY_SECONDS)
    one.poll(due=True)
    assert (resting, one.pending) == (True, True)
    one.close()


def test_closing_leaves_behind_one_that_never_returns(clock: FakeClock) -> None:
    collector = SlowCollector([slot()], [7])
    collector.gate.clear()
    one = background(collector, clock)
    one.poll(due=True)
    one.close(seconds=0)
    assert collector.closed == 0
    collector.gate.set()


def test_a_fault_in_the_background_is_named(clock: FakeClock) -> None:
    one = background(SlowCollector([slot()], ValueError("garbage")), clock)
    one.poll(due=True)
    assert one.wait(DEADLINE) is None
    assert one.condition.error == "ValueError: garbage"
    one.close()
