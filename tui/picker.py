"""A dialog to pick one text of a list; typing narrows it down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input

from tui.rowlist import Chosen, RowList
from tui.text import fit


class TextList(RowList[str]):
    def line(self, row: str, width: int) -> Content:
        return Content(fit(row, width))


class Picker(ModalScreen[str | None]):
    DEFAULT_CSS = """
    Picker { align: center middle; }
    Picker > Vertical { width: 90%; height: 80%; border: round $accent; padding: 0 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Leave"),
        Binding("down", "focus_list", "To the list", show=False),
    ]

    def __init__(self, title: str, texts: Sequence[str]) -> None:
        super().__init__()
        self._title = title
        self._texts = texts

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = self._title
            box.border_subtitle = "Enter takes, Esc leaves"
            yield Input(placeholder="type to narrow down", compact=True)
            yield TextList()

    def on_mount(self) -> None:
        self.query_one(TextList).show(self._texts)

    def on_input_changed(self, message: Input.Changed) -> None:
        words = message.value.casefold().split()
        found = [text for text in self._texts if all(word in text.casefold() for word in words)]
        self.query_one(TextList).show(found)

    def on_input_submitted(self) -> None:
        self.dismiss(self.query_one(TextList).current)

    def on_row_list_chosen(self, message: Chosen[str]) -> None:
        self.dismiss(message.row)

    def action_focus_list(self) -> None:
        self.query_one(TextList).focus()
