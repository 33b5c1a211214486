from __future__ import annotations

import json

import msgspec
import pytest

from cli.output import print_json, print_table, safe, severity
from cli.text import distance, percent, plural, rough_duration, size

HOSTILE = "[red]eth0[/] \x1b[2J\x07\u202e\ud800 naïve"


class Row(msgspec.Struct):
    name: str
    value: float


def test_what_could_steer_a_terminal_is_shown_as_an_escape() -> None:
    assert safe(HOSTILE) == r"[red]eth0[/] \x1b[2J\x07\u202e\ud800 naïve"


def test_json_is_one_document_without_nan(capsys: pytest.CaptureFixture[str]) -> None:
    print_json([Row("a", float("nan")), Row("b", float("inf")), Row("c", 1.5)])
    assert json.loads(capsys.readouterr().out) == [
        {"name": "a", "value": None},
        {"name": "b", "value": None},
        {"name": "c", "value": 1.5},
    ]


def test_bytes_that_are_not_utf8_are_escaped_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({b"disk\xff".decode("utf-8", "surrogateescape"): [Row("sd\udcff", 1.0)]})
    assert json.loads(capsys.readouterr().out) == {r"disk\udcff": [{"name": r"sd\udcff", "value": 1.0}]}


def test_a_table_for_a_program_is_wide_plain_and_literal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    print_table(("name", "n"), [(HOSTILE + "x" * 300, 7), (None, 12)], numbers=("n",))
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split()[-2:] == ["naïve" + "x" * 300, "7"]
    assert lines[2].startswith(r"[red]eth0[/] \x1b[2J")
    assert lines[3].split() == ["12"]
    assert "\x1b" not in "".join(lines)


def test_at_80_columns_prose_folds_and_names_stay_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    name, words = "storage nvme0n1 read_await_seconds", "word " * 40
    print_table(("channel", "source"), [(name, words)], prose=("source",))
    out = capsys.readouterr().out
    assert name in out
    assert out.count("word") == 40
    assert max(map(len, out.splitlines())) <= 80


def test_a_hostile_name_of_a_column_is_shown_literally(capsys: pytest.CaptureFixture[str]) -> None:
    print_table((HOSTILE,), [("x",)])
    assert capsys.readouterr().out.startswith(r"[red]eth0[/] \x1b[2J")


def test_where_nothing_fits_everything_folds_and_nothing_is_lost(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    print_table(("a", "b"), [("x" * 40, "y" * 40)])
    out = capsys.readouterr().out
    assert (out.count("x"), out.count("y")) == (40, 40)


@pytest.mark.parametrize(("length", "whole"), [(26, True), (40, False)])
def test_what_is_copied_folds_only_where_it_takes_half_the_width(
    length: int, whole: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_table(("model", "b", "c"), [("x" * length, "y" * 70, "z" * 70)], copied="model")
    out = capsys.readouterr().out
    assert (out.count("x"), out.count("y"), out.count("z")) == (length, 70, 70)
    assert ("x" * length in out) == whole


@pytest.mark.parametrize(
    ("word", "shown"), [("info", "◆ info"), ("warning", "▲ warning"), ("critical", "■ critical")]
)
def test_severity_is_told_without_colour(word: str, shown: str) -> None:
    assert severity(word).plain == shown


def test_sizes_shares_counts_and_durations() -> None:
    assert size(1_500_000_000) == "1.5 GB"
    assert size(999_999) == "1 MB"
    assert size(None) == "unknown"
    assert percent(0.456) == "45.6 %"
    assert (plural(1, "episode"), plural(1200, "episode")) == ("1 episode", "1,200 episodes")
    assert [rough_duration(x) for x in (0.0404, 1.234, 75.4, 4000, 200_000, None)] == [
        "40ms",
        "1s200ms",
        "1m15s",
        "1h7m",
        "2d8h",
        "",
    ]


def test_a_time_is_told_by_its_distance() -> None:
    now = "2026-01-31T12:00:00.000Z"
    assert distance(now, "2026-01-31T11:59:48.400Z") == "12s ago"
    assert distance(now, "2026-01-31T14:00:00.000Z") == "in 2h"
    assert distance(now, None) == ""
