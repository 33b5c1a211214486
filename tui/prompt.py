"""A dialog of one line that is accepted only when it can be understood."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from hostsight.errors import UsageError
from tui.text import clean


class Prompt(ModalScreen[bool]):
    """`accept` raises UsageError where the text is wrong: its sentence is shown and the dialog stays."""

    DEFAULT_CSS = """
    Prompt { align: center middle; }
    Prompt > Vertical { width: 70; max-width: 95%; height: auto; border: round $accent; padding: 0 1; background: $surface; }
    Prompt .hint { color: $text-muted; }
    Prompt .error { color: $text-error; height: auto; display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(False)", "Leave as it is")]

    def __init__(self, title: str, text: str, *, hint: str, accept: Callable[[str], None]) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._hint = hint
        self._accept = accept

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = self._title
            box.border_subtitle = "Enter accepts, Esc leaves"
            yield Input(self._text, compact=True, select_on_focus=True)
            yield Static(self._hint, classes="hint", markup=False)
            yield Static(classes="error", markup=False)

    def on_input_submitted(self, message: Input.Submitted) -> None:
        message.stop()
        try:
            self._accept(message.value)
        except UsageError as error:
            line = self.query_one(".error", Static)
            line.display = True
            line.update(clean(str(error)))
        else:
            self.dismiss(True)
