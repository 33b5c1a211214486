"""Reading ahead: the right range, at most one, and what fails ahead of time."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from hostsight.errors import StoreUnavailableError
from hostsight.timerange import TimeRange
from ingest.influx.ahead import ReadAhead
from ingest.influx.export import Export
from ingest.store import SAMPLES

FIRST, SECOND, THIRD = (TimeRange(at, at + 60) for at in (0, 60, 120))
WAIT_SECONDS = 10
ONE = pa.table([[0], [1], [1.0], [0.1]], schema=SAMPLES)


class Source:
    """Notes what it is asked for; `failures` are how often it fails first."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, TimeRange]] = []
        self.talking = True
        self.failing: dict[TimeRange, int] = {}
        self.begun = {span: threading.Event() for span in (FIRST, SECOND, THIRD)}

    def export(self, host: str, span: TimeRange) -> Export:
        self.asked.append((host, span))
        self.begun[span].set()
        if self.failing.get(span, 0):
            self.failing[span] -= 1
            raise StoreUnavailableError("the server is away; it is asked again")
        return Export(
            ONE if self.talking else SAMPLES.empty_table(), {span.start_ns: ("cpu", host, "busy_percent")}
        )


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def ahead(source: Source) -> Iterator[ReadAhead]:
    one = ReadAhead(source)
    yield one
    one.close()


def of(found: Export) -> tuple[str, int]:
    """Whose and which range it is."""
    ((start_ns, (_, host, _)),) = found.channels.items()
    return host, start_ns


def test_what_follows_is_fetched_before_it_is_asked_for_and_once(source: Source, ahead: ReadAhead) -> None:
    assert of(ahead.export("a", FIRST, SECOND)) == ("a", 0)
    assert source.begun[SECOND].wait(WAIT_SECONDS)
    assert of(ahead.export("a", SECOND)) == ("a", 60)
    assert source.asked == [("a", FIRST), ("a", SECOND)]


def test_nothing_is_fetched_ahead_of_a_host_that_fell_silent(source: Source, ahead: ReadAhead) -> None:
    source.talking = False
    ahead.export("a", FIRST, SECOND)
    ahead.close()
    assert source.asked == [("a", FIRST)]


def test_another_range_of_the_host_is_fetched_instead(source: Source, ahead: ReadAhead) -> None:
    ahead.export("a", FIRST, SECOND)
    assert of(ahead.export("a", THIRD)) == ("a", 120)
    assert of(ahead.export("a", SECOND)) == ("a", 60)


def test_it_holds_one_range_which_other_hosts_leave_alone(source: Source, ahead: ReadAhead) -> None:
    ahead.export("a", FIRST, SECOND)
    assert of(ahead.export("b", FIRST, SECOND)) == ("b", 0)
    assert of(ahead.export("b", SECOND)) == ("b", 60)
    assert of(ahead.export("a", SECOND)) == ("a", 60)
    assert source.asked == [("a", FIRST), ("a", SECOND), ("b", FIRST), ("b", SECOND)]


def test_what_failed_ahead_of_time_is_tried_again_when_it_is_wanted(source: Source, ahead: ReadAhead) -> None:
    source.failing[SECOND] = 1
    ahead.export("a", FIRST, SECOND)
    assert of(ahead.export("a", SECOND)) == ("a", 60)
    assert source.asked.count(("a", SECOND)) == 2


def test_a_server_that_stays_away_is_told_when_the_range_is_wanted(source: Source, ahead: ReadAhead) -> None:
    source.failing[SECOND] = 2
    assert of(ahead.export("a", FIRST, SECOND)) == ("a", 0)
    with pytest.raises(StoreUnavailableError, match="is away"):
        ahead.export("a", SECOND)
    assert of(ahead.export("a", SECOND)) == ("a", 60)
