"""A list of rows of one line each, drawn on demand: ten thousand rows cost what is visible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

T = TypeVar("T")
POINTER = "›"


class Chosen(Message, Generic[T], namespace="row_list"):
    """Enter or a click on the row under the cursor; handled by `on_row_list_chosen`."""

    def __init__(self, rows: RowList[T], row: T) -> None:
        super().__init__()
        self.rows = rows
        self.row = row

    @property
    def control(self) -> RowList[T]:
        return self.rows


class RowList(ScrollView, Generic[T], can_focus=True, inherit_bindings=False):
    """Subclasses say how a row and the heading look; a row keeps the cursor when the rows change around it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"rowlist--cursor", "rowlist--heading"}
    DEFAULT_CSS = """
    RowList {
        scrollbar-size-horizontal: 0; scrollbar-size-vertical: 1; overflow-x: hidden; height: 1fr;
        & > .rowlist--heading { color: $text-muted; }
        &:focus > .rowlist--cursor { background: $primary 40%; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Open"),
        Binding("up,k", "move(-1)", "Row up", show=False),
        Binding("down,j", "move(1)", "Row down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "edge(0)", "First row", show=False),
        Binding("end,G", "edge(-1)", "Last row", show=False),
    ]

    cursor: reactive[int] = reactive(0, repaint=True)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows: Sequence[T] = ()

    def key(self, row: T) -> object:
        """What makes a row the same one after a refresh."""
        return row

    def line(self, row: T, width: int) -> Content:
        """The row in `width` cells."""
        raise NotImplementedError

    def heading(self, width: int) -> Content | None:
        """Stays at the top while the rows scroll; None for none."""
        return None

    @property
    def width(self) -> int:
        """Cells of a row, the scroll bar not counted."""
        return self.scrollable_content_region.width

    @property
    def current(self) -> T | None:
        return self.rows[self.cursor] if self.cursor < len(self.rows) else None

    def show(self, rows: Sequence[T]) -> None:
        current = self.current
        self.rows = rows
        if current is not None:
            self.cursor = self._find(current)
        self.virtual_size = Size(0, len(rows) + self._top)
        self.refresh()

    def _find(self, current: T) -> int:
        wanted = self.key(current)
        same = (index for index, row in enumerate(self.rows) if self.key(row) == wanted)
        return next(same, max(0, min(self.cursor, len(self.rows) - 1)))

    @property
    def _top(self) -> int:
        return 0 if self.heading(self.width) is None else 1

    def render_line(self, y: int) -> Strip:
        width = self.width
        if y < self._top:
            return self._draw(self.heading(width) or Content(""), "rowlist--heading")
        index = y - self._top + self.scroll_offset.y
        if index >= len(self.rows):
            return Strip.blank(width, self.rich_style)
        here = index == self.cursor and self.has_focus
        line = Content.assemble(POINTER if here else " ", " ", self.line(self.rows[index], width - 2))
        return self._draw(line, "rowlist--cursor" if here else "")

    def _draw(self, line: Content, component: str) -> Strip:
        width = self.width
        style = self.get_visual_style(component) if component else self.visual_style
        strips = Visual.to_strips(self, line, width, 1, style, pad=True)
        return strips[0].adjust_cell_length(width, style.rich_style) if strips else Strip.blank(width)

    def watch_cursor(self) -> None:
        self._reveal()

    def on_resize(self) -> None:
        self.call_after_refresh(self._reveal)

    def _reveal(self) -> None:
        """Scroll so that the cursor's row is in sight."""
        visible = max(1, self.size.height - self._top)
        if self.cursor < self.scroll_offset.y:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif self.cursor >= self.scroll_offset.y + visible:
            self.scroll_to(y=self.cursor - visible + 1, animate=False, force=True)

    def validate_cursor(self, cursor: int) -> int:
        return max(0, min(cursor, len(self.rows) - 1))

    def action_move(self, step: int) -> None:
        self.cursor += step

    def action_page(self, pages: int) -> None:
        self.cursor += pages * max(1, self.size.height - self._top)

    def action_edge(self, index: int) -> None:
        self.cursor = index if index >= 0 else len(self.rows) - 1

    def action_choose(self) -> None:
        if self.current is not None:
            self.post_message(Chosen(self, self.current))

    def on_click(self, event: events.Click) -> None:
        index = event.y - self._top + self.scroll_offset.y
        if event.y >= self._top and index < len(self.rows):
            self.cursor = index
            self.action_choose()
