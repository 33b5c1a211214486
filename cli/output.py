"""What people and programs read on stdout: tables for the one, JSON for the other; narration on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

import click

from hostsight.text import encodable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_UNLIMITED = 1_000_000
"""Columns of a pipe or file: nothing is folded where a program reads."""
_PROSE = 10
"""The least width of a column whose text may fold."""
_GAP = 2
_SEVERITIES = {"info": ("◆", "cyan"), "warning": ("▲", "yellow"), "critical": ("■", "bold red")}


def safe(text: object) -> str:
    """`text` with every character that could steer a terminal, or that it cannot show, as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(text))


def print_json(document: object) -> None:
    """One indented JSON document; NaN and infinity become null, undecodable bytes are escaped."""
    import msgspec

    encoder = msgspec.json.Encoder(decimal_format="number")
    try:
        encoded = encoder.encode(document)
    except UnicodeEncodeError:
        encoded = encoder.encode(_encodable(msgspec.to_builtins(document)))
    click.echo(msgspec.json.format(encoded, indent=2))


def _encodable(value: object) -> object:
    """The same document with lone surrogates (bytes that are not UTF-8) written as escapes."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encodable(item) for item in value]
    return value


def narrate(sentence: str) -> None:
    """A line for the person who watches, never mixed into the data."""
    click.echo(sentence, err=True)


def console(*, stderr: bool = False) -> Console:
    """A rich console that neither interprets data as markup nor folds lines for programs."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else _UNLIMITED
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False, soft_wrap=False)


def greet(sentence: str) -> None:
    """A line for somebody who started this in a terminal; a service's log is spared it."""
    if sys.stderr.isatty():
        narrate(sentence)


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    numbers: Sequence[str] = (),
    prose: Sequence[str] = (),
    copied: str | None = None,
) -> None:
    """Print a table; None is empty, and a cell that is no rich Text is made `safe`.

    The columns in `numbers` are set right. Where the width is too small, cells of `prose` columns fold before any other
    does, and those of the column `copied`, whose text people hand on to another command, fold only where they take half the
    width; nothing is ever cut off.
    """
    from rich import box
    from rich.table import Table

    cells = [[_text(cell) for cell in row] for row in rows]
    screen = console()
    whole = _fits(columns, cells, prose, screen.width)
    stays = copied is not None and _widest(cells, columns.index(copied)) < screen.width / 2
    made = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True, header_style="bold"
    )
    for name in columns:
        justify: Literal["left", "right"] = "right" if name in numbers else "left"
        no_wrap = (whole and name not in prose) or (name == copied and stays)
        made.add_column(_text(name), justify=justify, overflow="fold", no_wrap=no_wrap)
    for row in cells:
        made.add_row(*row)
    screen.print(made)


def _fits(columns: Sequence[str], cells: Sequence[Sequence[Text]], prose: Sequence[str], width: int) -> bool:
    """Whether all columns but `prose` can be shown without folding, and those with a few letters a line."""
    needed = 0
    for index, name in enumerate(columns):
        longest = max(len(name), _widest(cells, index))
        needed += (min(longest, _PROSE) if name in prose else longest) + _GAP
    return needed <= width


def _widest(cells: Sequence[Sequence[Text]], index: int) -> int:
    return max((row[index].cell_len for row in cells), default=0)


def _text(cell: object) -> Text:
    from rich.text import Text

    return cell if isinstance(cell, Text) else Text(safe("" if cell is None else cell))


def severity(word: str) -> Text:
    """Glyph, word and colour, so that it is told without colour too."""
    from rich.text import Text

    glyph, style = _SEVERITIES.get(word, ("?", ""))
    return Text(f"{glyph} {word}", style=style)
