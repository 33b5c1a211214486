"""The views a query can use, with their columns; Enter writes the name into the editor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content

from tui.glyphs import MUTED
from tui.rowlist import RowList
from tui.source import View
from tui.text import fit


@dataclass(frozen=True, slots=True)
class SchemaRow:
    view: str
    column: str = ""
    type: str = ""

    @property
    def name(self) -> str:
        return self.column or self.view


class SchemaList(RowList[SchemaRow]):
    def show_views(self, views: Sequence[View]) -> None:
        rows = []
        for view in views:
            rows.append(SchemaRow(view.name))
            rows += [SchemaRow(view.name, column, kind) for column, kind in view.columns]
        self.show(rows)

    def line(self, row: SchemaRow, width: int) -> Content:
        if not row.column:
            return Content.styled(fit(row.view, width), "bold")
        name = fit(f"  {row.column} ", min(width, len(row.column) + 3))
        return Content.assemble(name, (fit(row.type.lower(), max(0, width - len(name))), MUTED))
