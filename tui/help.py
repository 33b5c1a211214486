"""The keys that work in a view, read from the binding registry, so that they are never out of date."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from tui.keyline import usable_bindings
from tui.view import View

KEYS, WORDS = 16, 54
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
    """What the view is for, and its keys: its own, those of every view, then how to move and edit."""
    bindings = [binding for binding in usable_bindings(screen) if binding.action not in _SYSTEM]
    everywhere = {binding.action for _, binding in app._bindings}
    shared = [binding for binding in bindings if binding.action in everywhere]
    shared.sort(key=lambda binding: not binding.show)
    own = [binding for binding in bindings if binding.action not in everywhere]
    sections = {
        "Here": [binding for binding in own if binding.show],
        "Everywhere": shared,
        "Moving": [binding for binding in own if not binding.show],
    }
    parts: list[Content] = []
    if isinstance(screen, View) and screen.HELP:
        parts += [Content(screen.HELP), Content("")]
    for title, found in sections.items():
        if found:
            parts += [Content.styled(title, "bold"), *_lines(app, found), Content("")]
    return Content("\n").join(parts[:-1])


def _lines(app: App[Any], bindings: Iterable[Binding]) -> Iterator[Content]:
    """Keys with the same action share a line; long words go on below themselves."""
    keys: dict[str, list[str]] = {}
    words: dict[str, str] = {}
    for binding in bindings:
        keys.setdefault(binding.action, []).append(app.get_key_display(binding))
        words.setdefault(binding.action, binding.tooltip or binding.description)
    for action, names in keys.items():
        first, *rest = wrap(words[action], WORDS)
        name = " ".join(dict.fromkeys(names)).ljust(KEYS - 1) + " "
        yield Content.assemble("  ", (name, "bold $text-accent"), first)
        yield from (Content(" " * (KEYS + 2) + line) for line in rest)
