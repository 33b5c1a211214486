"""Text from outside made safe to draw: one line, printable, of a known width in cells."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from rich.cells import cell_len, set_cell_size

_REPLACED = {"Cc", "Cf", "Cs", "Co", "Cn"}
_SPACES = {"Zl", "Zp", "Zs"}
_VARIATION_SELECTORS = range(0xFE00, 0xFE10)


@lru_cache(maxsize=4096)
def clean(text: str) -> str:
    """`text` on one line without anything that moves the cursor, hides or reverses what follows.

    Control, format, surrogate and unassigned characters become `�`, white space of any kind a blank.
    """
    return text if text.isascii() and text.isprintable() else "".join(map(_clean_character, text))


def _clean_character(character: str) -> str:
    if character in "\t\n\r":
        return " "
    if ord(character) in _VARIATION_SELECTORS:
        return ""
    category = unicodedata.category(character)
    if category in _SPACES:
        return " "
    return "\N{REPLACEMENT CHARACTER}" if category in _REPLACED else character


def fit(text: str, width: int, *, right: bool = False) -> str:
    """`text`, cleaned, in exactly `width` cells: padded, or cut with an ellipsis."""
    safe = clean(text)
    size = cell_len(safe)
    if size > width:
        return set_cell_size(set_cell_size(safe, max(0, width - 1)).rstrip() + "…", width) if width else ""
    padding = " " * (width - size)
    return padding + safe if right else safe + padding
