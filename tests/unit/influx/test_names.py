from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.influx.names import (
    flux_string,
    flux_time,
    line_text,
    parse_stamp_ns,
    quote_name,
    string_field,
    unquote_name,
)

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40).filter(
    lambda text: not any(0xD800 <= ord(c) < 0xDC80 or 0xDCFF < ord(c) <= 0xDFFF for c in text)
)
"""Names as the kernel gives them: any text, with bytes that are not UTF-8 as lone surrogates."""


@given(ANY_TEXT)
def test_every_name_can_be_read_back_from_text_that_is_safe_in_line_protocol(name: str) -> None:
    quoted = quote_name(name)
    assert unquote_name(quoted) == name.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    assert quoted
    assert quoted.encode("utf-8")
    assert not {"\\", "\n", "\r", "\0"} & set(quoted)


@pytest.mark.parametrize("name", ["eth0", "rx_bytes_per_s", "nvme0n1", "GPU-5f", "a b", "ü", "0000:3b:00.0"])
def test_ordinary_names_stay_as_they_are(name: str) -> None:
    assert quote_name(name) == name


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        ("", "%"),
        ("_field", "%5Ffield"),
        ("time", "%74ime"),
        ("timeout", "timeout"),
        ("5%", "5%25"),
        ("a\\", "a%5C"),
    ],
)
def test_names_that_influxdb_keeps_for_itself_or_cannot_hold_are_encoded(name: str, quoted: str) -> None:
    assert quote_name(name) == quoted


def test_line_protocol_escapes_commas_equals_signs_and_spaces() -> None:
    assert line_text("a,b=c d") == r"a\,b\=c\ d"


def test_string_fields_escape_quotes_and_backslashes() -> None:
    assert string_field('say "a\\b"') == r'"say \"a\\b\""'


def test_flux_evaluates_nothing_in_a_string() -> None:
    assert flux_string('a"${1+1}\\\n') == '"a\\"\\${1+1}\\\\\\n"'


@pytest.mark.parametrize(
    "ns", [0, 1_700_000_000_000_000_001, 1_700_000_000_123_456_789, 1_700_000_000_000_000_000]
)
def test_times_are_told_and_read_to_the_nanosecond(ns: int) -> None:
    assert parse_stamp_ns(flux_time(ns)) == ns


def test_times_are_read_without_trailing_zeros() -> None:
    assert parse_stamp_ns("2023-11-14T22:13:20Z") == 1_700_000_000_000_000_000
    assert parse_stamp_ns("2023-11-14T22:13:20.05Z") == 1_700_000_000_050_000_000
