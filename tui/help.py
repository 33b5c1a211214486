"""The keys that work in a view, read from the binding registry, so that they are never out of date."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from tui.keyline import usable_bindings
from tui.view import View

KEYS = 22
_SYSTEM = {"screen.copy_text", "app.help_quit", "help_quit", "copy_text"}


class Help(ModalScreen[None]):
    DEFAULT_CSS = """
    Help { align: center middle; }
    Help > VerticalScroll {
        width: 76; max-width: 95%; height: auto; max-height: 90%; border: round $accent; padding: 0 1; background: $surface;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,f1,q", "dismiss", "Close", key_display="Esc")
    ]

    def __init__(self, about: Screen[Any]) -> None:
        super().__init__()
        self._about = about

    def compose(self) -> ComposeResult:
        with VerticalScroll() as box:
            box.border_title = "Help"
            box.border_subtitle = "Esc closes"
            yield Static(help_text(self.app, self._about))


def help_text(app: App[Any], screen: Screen[Any]) -> Content:
    """What the view is for, and a line an action: the view's own first, and what the key line shows before the rest."""
    bindings = [binding for binding in usable_bindings(screen) if binding.action not in _SYSTEM]
    bindings.sort(key=lambda binding: not binding.show)
    everywhere = {binding.action for _, binding in app._bindings}
    here = [binding for binding in bindings if binding.action not in everywhere]
    shared = [binding for binding in bindings if binding.action in everywhere]
    parts: list[Content] = []
    if isinstance(screen, View) and screen.HELP:
        parts += [Content(screen.HELP), Content("")]
    parts += [Content.styled("Here", "bold"), *_lines(app, here), Content("")]
    parts += [Content.styled("Everywhere", "bold"), *_lines(app, shared)]
    return Content("\n").join(parts)


def _lines(app: App[Any], bindings: Iterable[Binding]) -> list[Content]:
    """Keys with the same action share a line."""
    keys: dict[str, list[str]] = {}
    words: dict[str, str] = {}
    for binding in bindings:
        keys.setdefault(binding.action, []).append(app.get_key_display(binding))
        words.setdefault(binding.action, binding.tooltip or binding.description)
    return [
        Content.assemble(
            "  ", (" ".join(dict.fromkeys(keys[action])).ljust(KEYS), "bold $text-accent"), words[action]
        )
        for action in keys
    ]
