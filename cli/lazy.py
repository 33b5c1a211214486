"""Commands that are imported only when they run, so that `hostsight --help` stays quick."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

import click

from hostsight.errors import nearest


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the main help. The command is `command` in `module`, otherwise in `cli.commands.<name>`."""

    heading: str
    summary: str
    module: str = ""


class LazyGroup(click.Group):
    """A group whose help is written from a table, without importing what it lists."""

    def __init__(self, *args: object, entries: Mapping[str, Entry], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]  # click's own keyword arguments
        self.entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = import_module(entry.module or f"cli.commands.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.entries and not name.startswith("-"):
            raise click.UsageError(f"no such command '{name}'{nearest(name, self.entries)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.entries))
        headings = dict.fromkeys(entry.heading for entry in self.entries.values())
        for heading in headings:
            rows = [
                (name.ljust(width), entry.summary)
                for name, entry in self.entries.items()
                if entry.heading == heading
            ]
            with formatter.section(heading):
                formatter.write_dl(rows)
