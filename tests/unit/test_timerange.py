from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostsight.clock import SECOND_NS
from hostsight.errors import UsageError
from hostsight.timerange import (
    TimeRange,
    format_duration,
    parse_duration_ns,
    parse_instant_ns,
    parse_range,
)

NOW = 1_700_000_000 * SECOND_NS
HOUR = 3600 * SECOND_NS


def ns(*date: int) -> int:
    return int(datetime(*date, tzinfo=UTC).timestamp()) * SECOND_NS  # type: ignore[arg-type, misc]  # date parts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", 90 * SECOND_NS),
        ("1h30m", 5400 * SECOND_NS),
        ("250ms", 250_000_000),
        ("1.5s", 1_500_000_000),
        (" 2 D ", 2 * 86_400 * SECOND_NS),
        ("1w", 7 * 86_400 * SECOND_NS),
        ("0s", 0),
    ],
)
def test_durations_read_as_they_are_written(text: str, expected: int) -> None:
    assert parse_duration_ns(text) == expected


@pytest.mark.parametrize("text", ["", "5", "-5s", "5 parsecs", "s", "1h30", "1e3s", "5s!", "5 minutes"])
def test_anything_else_is_refused_with_the_accepted_form(text: str) -> None:
    with pytest.raises(UsageError, match="write it as 90s, 5m, 1h30m or 250ms"):
        parse_duration_ns(text)


@given(st.integers(0, 10**15))
def test_a_formatted_duration_reads_back(milliseconds: int) -> None:
    seconds = milliseconds / 1000
    assert parse_duration_ns(format_duration(seconds)) == round(seconds * SECOND_NS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW),
        ("NOW-6h", NOW - 6 * HOUR),
        ("now+30s", NOW + 30 * SECOND_NS),
        ("2026-01-31", ns(2026, 1, 31)),
        ("2026-01-31T12:00:00Z", ns(2026, 1, 31, 12)),
        ("2026-01-31T12:00:00+02:00", ns(2026, 1, 31, 10)),
        ("2026-01-31T12:00:00", ns(2026, 1, 31, 12)),
    ],
)
def test_instants(text: str, expected: int) -> None:
    assert parse_instant_ns(text, NOW) == expected


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("6h", NOW - 6 * HOUR, NOW),
        ("now-6h", NOW - 6 * HOUR, NOW),
        ("now-6h..now-1h", NOW - 6 * HOUR, NOW - HOUR),
        ("now-6h..", NOW - 6 * HOUR, NOW),
        ("2023-11-01..2023-11-02", ns(2023, 11, 1), ns(2023, 11, 2)),
        ("2023-11-01", ns(2023, 11, 1), NOW),
    ],
)
def test_ranges(text: str, start: int, end: int) -> None:
    assert parse_range(text, NOW) == TimeRange(start, end)


@pytest.mark.parametrize(
    "text", ["yesterday", "..now", "now-1h..now-6h", "2026-13-01", "now-", "6 lightyears"]
)
def test_a_wrong_range_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError):
        parse_range(text, NOW)


def test_a_range_is_half_open() -> None:
    span = TimeRange(10, 20)
    assert span.contains(TimeRange(10, 20))
    assert not span.contains(TimeRange(10, 21))
    assert not span.overlaps(TimeRange(20, 30))
    assert span.overlaps(TimeRange(19, 30))
    assert not TimeRange(5, 5)


def test_what_lies_before_1970_is_taken_as_1970() -> None:
    assert parse_range("9999999h", NOW) == TimeRange(0, NOW)
    assert parse_instant_ns("now-5000w", NOW) == 0


@pytest.mark.parametrize("text", ["now+9999999w..", "now..9999-01-01"])
def test_what_lies_beyond_64_bits_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="beyond the year 2262"):
        parse_range(text, NOW)
