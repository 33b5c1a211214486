"""The last line of every view: the keys that work here, read from the binding registry."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

from tui.glyphs import MUTED

GAP = "  "
HELP_ACTION = "help"


def usable_bindings(screen: Screen[Any]) -> list[Binding]:
    """The bindings that act now, nearest first; a letter that the focused editor would type is not one."""
    focused = screen.focused
    found = []
    for active in screen.active_bindings.values():
        key = active.binding.key
        typed = focused is not None and focused.check_consume_key(key, _character(key))
        if active.enabled and not typed:
            found.append(active.binding)
    return found


def _character(key: str) -> str | None:
    named = {"question_mark": "?", "slash": "/", "space": " "}
    return key if len(key) == 1 else named.get(key)


class KeyLine(Widget):
    """Shows as many bindings as fit, Help always; a click does what the key does."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "KeyLine { dock: bottom; height: 1; background: $panel; padding: 0 1; }"

    def __init__(self) -> None:
        super().__init__()
        self._ends: list[tuple[int, str]] = []

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.refresh())

    def render(self) -> Content:
        shown = {
            binding.action: binding for binding in reversed(usable_bindings(self.screen)) if binding.show
        }
        bindings = list(reversed(shown.values()))
        room = self.content_size.width
        kept = [binding for binding in bindings if binding.action == HELP_ACTION]
        room -= sum(map(self._width, kept))
        for binding in bindings:
            if binding.action != HELP_ACTION and (room := room - self._width(binding)) >= 0:
                kept.append(binding)
        kept.sort(key=bindings.index)
        ends = accumulate(map(self._width, kept))
        self._ends = [(end, binding.key) for end, binding in zip(ends, kept, strict=True)]
        return Content.assemble(*map(self._part, kept))

    def _part(self, binding: Binding) -> Content:
        key = self.app.get_key_display(binding)
        return Content.assemble((key, "bold $text-accent"), " ", (binding.description, MUTED), GAP)

    def _width(self, binding: Binding) -> int:
        return self._part(binding).cell_length

    def on_click(self, event: events.Click) -> None:
        key = next((key for end, key in self._ends if event.x - 1 < end), None)
        if key is not None:
            self.app.simulate_key(key)
