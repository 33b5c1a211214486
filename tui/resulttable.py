"""The rows of a query. Importing this imports pyarrow and the table, which the first frame must not wait for."""

from __future__ import annotations

from itertools import chain, count
from typing import ClassVar

import pyarrow as pa
from rich.text import Text
from textual.binding import Binding, BindingType
from textual_fastdatatable import ArrowBackend, DataTable

from tui.source import Result, ResultColumn
from tui.text import clean

NULL = "∅"
MAX_CELL = 200
MAX_COLUMN = 60


def text_table(result: Result) -> pa.Table:
    """The result as safe text, numbers aligned at the right; blank names become readable ones."""
    names = unique([clean(column.name) or "(no name)" for column in result.columns])
    arrays = [
        pa.array(_texts(column, cells), pa.string())
        for column, cells in zip(result.columns, result.cells, strict=True)
    ]
    return pa.table(arrays, names=names)


def _texts(column: ResultColumn, cells: tuple[str | None, ...]) -> list[str]:
    texts = [NULL if cell is None else _short(clean(cell[: 2 * MAX_CELL])) for cell in cells]
    width = max(map(len, texts), default=0) if column.numeric else 0
    return [text.rjust(width) for text in texts]


def _short(text: str) -> str:
    return text if len(text) <= MAX_CELL else text[: MAX_CELL - 1] + "…"


def unique(names: list[str]) -> list[str]:
    """Names that occur again get a number, as `n`, `n:2`."""
    out: list[str] = []
    taken: set[str] = set()
    for name in names:
        choices = chain([name], (f"{name}:{number}" for number in count(2)))
        out.append(next(choice for choice in choices if choice not in taken))
        taken.add(out[-1])
    return out


class ResultTable(DataTable):
    DEFAULT_CSS = """
    ResultTable { height: 1fr; background: $background; }
    ResultTable > .datatable--header { background: $panel; color: $foreground-muted; text-style: bold; }
    ResultTable > .datatable--header-hover, ResultTable > .datatable--header-cursor { background: $panel; color: $foreground; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy_cell", "Copy cell", tooltip="Copy the cell, over SSH too (OSC 52)")
    ]

    def __init__(self, result: Result) -> None:
        table = text_table(result)
        super().__init__(
            backend=ArrowBackend(table),
            column_labels=[
                Text(name) for name in table.column_names
            ],  # a plain string would be read as markup
            render_markup=False,
            show_row_labels=False,
            zebra_stripes=False,
            max_column_content_width=MAX_COLUMN,
        )
        self._result = result

    def action_copy_cell(self) -> None:
        row, column = self.cursor_coordinate
        if self._result.rows:
            self.app.copy_to_clipboard(self._result.cells[column][row] or "")
            self.notify("Cell copied", timeout=2)
