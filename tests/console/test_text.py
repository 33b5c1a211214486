"""Text from outside made safe."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tui.text import clean, fit


@pytest.mark.parametrize(
    ("hostile", "safe"),
    [
        ("eth0", "eth0"),
        ("a\x1b[31mred", "a�[31mred"),
        ("a\nb\tc\rd", "a b c d"),
        ("\x9b31m", "�31m"),
        ("abc\u202edcba", "abc�dcba"),
        ("zero\u200bwidth", "zero�width"),
        ("\ud800lone", "�lone"),
        ("a\u2028b\u00a0c", "a b c"),
        ("[bold]not markup[/]", "[bold]not markup[/]"),
    ],
)
def test_what_moves_the_cursor_or_hides_text_is_replaced(hostile: str, safe: str) -> None:
    assert clean(hostile) == safe


def test_text_that_is_too_long_is_cut_with_an_ellipsis() -> None:
    assert fit("busy_percent", 6) == "busy_…"
    assert fit("busy", 4) == "busy"


def test_wide_characters_count_two_cells() -> None:
    assert fit("宽宽宽", 6) == "宽宽宽"
    assert fit("宽宽宽", 4) == "宽… "


def test_numbers_can_be_aligned_at_the_right() -> None:
    assert fit("97 %", 7, right=True) == "   97 %"


@given(st.text(), st.integers(0, 40))
def test_any_text_fits_in_exactly_the_cells_asked_for(value: str, width: int) -> None:
    assert cell_len(fit(value, width)) == width


@given(st.text())
def test_clean_text_stays_as_it_is(value: str) -> None:
    assert clean(clean(value)) == clean(value)
