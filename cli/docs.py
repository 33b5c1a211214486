"""Fills the generated parts of `docs/` from the code: `make docs`. A test fails while a page is behind.

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`; what is outside is written by hand.
"""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import click

from hostsight.timerange import format_duration
from ingest.collector import Collector, origin

DOCS = Path(__file__).resolve().parent.parent / "docs"
_PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines)


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def settings() -> str:
    """A table for each section of `hostsight.toml`."""
    from hostsight.settings import sections

    return "\n".join(
        f"### [{section}]\n\n"
        + table(
            ("key", "default", "meaning", "environment"),
            (
                (f"`{key}`", f"`{_toml(field.default)}`", field.type.__metadata__[0].description,  # type: ignore[attr-defined]  # Annotated
                 f"`HOSTSIGHT_{section}_{key}`".upper())
                for key, field in fields.items()
            ),
        )
        for section, fields in sections().items()
    )  # fmt: skip


def _toml(value: object) -> str:
    """A default as the settings file would have it."""
    from hostsight.settings import Duration, Size

    if isinstance(value, (str, Duration, Size)):
        return f'"{value}"'
    if isinstance(value, bool):
        return str(value).lower()
    return str(list(value) if isinstance(value, tuple) else value)


def metrics() -> str:
    """A table for each collector, from its own metric table."""
    from ingest.registry import collectors

    return "\n".join(
        f"### {collector.name} ({collector.tier.value} tier)\n\n"
        + _origin(collector)
        + table(
            ("metric", "unit", "kind", "meaning"),
            ((f"`{one.name}`", one.unit, one.kind, one.meaning) for one in collector.metrics),
        )
        for collector in collectors()
    )


def _origin(collector: Collector) -> str:
    """`From /proc/stat; changes every 10ms; needs ...`"""
    said = origin(collector)
    if said is None:
        return ""
    period = f"; changes every {format_duration(said.period_seconds)}" if said.period_seconds > 0.001 else ""
    needs = f"; needs {said.needs}" if said.needs else ""
    return f"From {said.source}{period}{needs}.\n\n".replace("*", "\\*")


def state() -> str:
    """The schema of the state database, as applying every migration to an empty file gives it."""
    return "".join(f"### {name}\n\n```sql\n{sql};\n```\n\n" for name, sql in schema())


def schema() -> Iterator[tuple[str, str]]:
    """(name, SQL) of each table and index."""
    from migrations.runner import migrations, statements

    connection = sqlite3.connect(":memory:")
    try:
        for migration in migrations():
            for statement in statements(migration.script):
                connection.execute(statement)
        query = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
        yield from connection.execute(query).fetchall()
    finally:
        connection.close()


def commands() -> str:
    """The help of every command."""
    return "".join(f"### hostsight {name}\n\n```\n{text}\n```\n\n" for name, text in helps())


def helps() -> Iterator[tuple[str, str]]:
    """(words, help text) of each command, groups before their commands."""
    from cli.main import cli

    root = click.Context(cli, info_name="hostsight", **cli.context_settings)
    for name in cli.list_commands(root):
        command = cli.get_command(root, name)
        assert command is not None  # noqa: S101  the group lists only what it has
        yield from _helps(command, name, root)


def _helps(command: click.Command, words: str, parent: click.Context) -> Iterator[tuple[str, str]]:
    context = click.Context(command, parent, info_name=words.rsplit(maxsplit=1)[-1], terminal_width=100)
    yield words, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None  # noqa: S101  the group lists only what it has
            yield from _helps(inner, f"{words} {name}", context)


PARTS: dict[str, Callable[[], str]] = {
    "settings": settings,
    "metrics": metrics,
    "state": state,
    "commands": commands,
}


def fill(text: str) -> str:
    """`text` with every generated part as the code now gives it."""
    return _PART.sub(lambda found: f"{found[1]}\n{PARTS[found[2]]()}{found[3]}", text)


def pages() -> Iterator[tuple[Path, str]]:
    """Each page of `docs/` and what it should hold."""
    from sql.documentation import views_markdown

    yield DOCS / "views.md", views_markdown()
    for page in sorted(DOCS.glob("*.md")):
        if page.name != "views.md":
            yield page, fill(page.read_text("utf-8"))


def main() -> None:
    for page, text in pages():
        if not page.exists() or page.read_text("utf-8") != text:
            page.write_text(text, "utf-8")
            print(f"{page.name} written anew", file=sys.stderr)


if __name__ == "__main__":
    main()
