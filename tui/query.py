"""SQL over all views: editor, schema, history, and a query that can always be stopped."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static, TextArea

from hostsight.clock import SECOND_NS
from hostsight.timerange import TimeRange
from tui.background import Background
from tui.glyphs import CRITICAL, NORMAL, WARNING, Mark
from tui.picker import Picker
from tui.rowlist import Chosen
from tui.schemalist import SchemaList, SchemaRow
from tui.source import Pulse, Query, Result
from tui.text import clean
from tui.trouble import trouble
from tui.view import View

EXAMPLE = """-- the CPUs in the newest window
SELECT device, metric, mean, unit FROM features JOIN channels USING (channel_id)
WHERE subsystem = 'cpu' AND window_end = (SELECT max(window_end) FROM features) ORDER BY ALL
"""


class QueryView(View):
    DEFAULT_CSS = """
    QueryView #editor { height: 30%; min-height: 5; border: none; padding: 0 1; }
    QueryView #state { height: auto; max-height: 6; padding: 0 2; background: $panel; }
    QueryView #schema { width: 34; display: none; border-right: vkey $panel; }
    QueryView #schema.shown { display: block; }
    QueryView #results { height: 1fr; padding: 0 1; }
    """
    HELP = (
        "One read-only statement over the views samples, channels, features, scores, episodes, attributions, models and "
        "job_runs. It runs in a process of its own with limits on time and memory."
    )
    SHOWS_RANGE: ClassVar[bool] = False
    AUTO_FOCUS: ClassVar[str | None] = "#editor"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+j", "run", "Run", tooltip="Run the statement", priority=True),
        Binding("ctrl+c", "cancel", "Stop", tooltip="Stop the running query", priority=True),
        Binding(
            "escape",
            "back",
            "Back",
            tooltip="Stop the running query; to the rows; to the overview",
            key_display="Esc",
        ),
        Binding("ctrl+r", "history", "History", tooltip="Earlier queries", priority=True),
        Binding(
            "f2", "schema", "Schema", tooltip="Show or hide the views and their columns", key_display="F2"
        ),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._query: Query | None = None
        self._started_ns = 0
        self._cancelled = False
        # a query may take its whole time limit: it must not hold up what else is read
        self._background = Background("console-query")

    def crumbs(self) -> tuple[str, ...]:
        return ("hostsight", "SQL")

    def body(self) -> ComposeResult:
        with Horizontal():
            yield SchemaList(id="schema")
            with Vertical():
                yield TextArea(EXAMPLE, id="editor", soft_wrap=True, show_line_numbers=False)
                yield Static(
                    "^j runs the query; F2 lists views and columns, ^r earlier queries",
                    id="state",
                    markup=False,
                )
                yield Vertical(id="results")

    def on_mount(self) -> None:
        editor = self.query_one(TextArea)
        editor.move_cursor(editor.document.end)
        self.query_one("#schema").set_class(self.app.size.width >= 120, "shown")
        self.set_interval(0.5, self._show_running)

    def on_unmount(self) -> None:
        if self._query is not None:
            self._query.cancel()

    async def load(self, pulse: Pulse, span: TimeRange) -> None:
        schema = self.query_one(SchemaList)
        if not schema.rows:
            schema.show_views(await self.console.read(self.console.source.views))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "cancel":
            return self._query is not None
        return super().check_action(action, parameters)

    def action_run(self) -> None:
        text = self.query_one(TextArea).text.strip()
        if self._query is not None:
            self._say(WARNING, "A query is running; ^c stops it")
        elif text:
            self.console.history.add(text)
            self.run_worker(self._run(text), group="query")

    async def _run(self, text: str) -> None:
        self._cancelled = False
        self._started_ns = self.console.clock.monotonic_ns()
        self._say(NORMAL, "Starting ...")
        try:
            self._query = await self._background.run(self.console.source.query, text, self.console.rows)
            self.refresh_bindings()
            await self._show(await self._background.run(self._query.wait))
        except Exception as error:  # noqa: BLE001  # the console outlives it
            self._say(WARNING if self._cancelled else CRITICAL, trouble(error))
        finally:
            self._query = None
            self.refresh_bindings()

    async def _show(self, result: Result) -> None:
        await asyncio.to_thread(_import_table)
        from tui.resulttable import ResultTable

        place = self.query_one("#results")
        had_focus = place.has_focus_within
        await place.remove_children()
        if result.columns:
            table = ResultTable(result)
            await place.mount(table)
            if had_focus:
                table.focus()
        self._say(*outcome(result))

    def _show_running(self) -> None:
        if self._query is not None:
            seconds = (self.console.clock.monotonic_ns() - self._started_ns) / SECOND_NS
            self._say(NORMAL, f"Running for {seconds:.1f} s; ^c or Esc stops it")

    def _say(self, mark: Mark, text: str) -> None:
        if self.gone:
            return
        self.query_one("#state", Static).update(Content.assemble((mark.glyph, mark.style), " ", clean(text)))

    def action_cancel(self) -> None:
        if self._query is not None:
            self._cancelled = True
            self._query.cancel()

    def action_back(self) -> None:
        """Stops a running query; else from the editor to the rows; else to the overview."""
        if self._query is not None:
            self.action_cancel()
        elif self.query_one(TextArea).has_focus and self.query("ResultTable"):
            self.query("ResultTable").first().focus()
        else:
            self.console.action_view("overview")

    def action_history(self) -> None:
        self.app.push_screen(Picker("Earlier queries", self.console.history.texts), self._take)

    def _take(self, text: str | None) -> None:
        if text is not None:
            editor = self.query_one(TextArea)
            editor.text = text
            editor.move_cursor(editor.document.end)
            editor.focus()

    def action_schema(self) -> None:
        schema = self.query_one(SchemaList)
        schema.toggle_class("shown")
        (schema if schema.has_class("shown") else self.query_one(TextArea)).focus()

    def on_row_list_chosen(self, message: Chosen[SchemaRow]) -> None:
        editor = self.query_one(TextArea)
        editor.insert(message.row.name)
        editor.focus()


def outcome(result: Result) -> tuple[Mark, str]:
    """How it ended, and whether there is more than is shown."""
    rows = f"{result.rows:,} row{'s' if result.rows != 1 else ''} in {result.seconds:.2f} s"
    if result.truncated:
        return WARNING, f"First {rows}; there are more: add LIMIT, or use `hostsight sql`"
    return NORMAL, rows


def _import_table() -> None:
    """Half a second of imports on a slow machine, on a thread of its own."""
    import tui.resulttable  # noqa: F401
