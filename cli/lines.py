"""Where status lines go: plain with a time stamp, or above a progress bar on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

import click

from cli.output import safe

if TYPE_CHECKING:
    from rich.progress import TaskID

    from jobs.host_status import HostStatus


class Lines(Protocol):
    """`draws`: progress is drawn, so nobody needs lines about it."""

    draws: bool

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def say(self, line: str) -> None:
        """Print one line; from any thread."""
        ...

    def show(self, hosts: Sequence[HostStatus]) -> None:
        """How far learning has come, where that can be drawn."""
        ...


def open_lines() -> Lines:
    return BarLines() if sys.stdout.isatty() else PlainLines()


def stamped(line: str) -> str:
    """`2026-01-31T12:00:00Z  line`"""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}  {safe(line)}"


class PlainLines:
    """For logs and pipes: every line at once, nothing redrawn."""

    draws = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def say(self, line: str) -> None:
        click.echo(stamped(line))
        sys.stdout.flush()

    def show(self, hosts: Sequence[HostStatus]) -> None:
        pass


class BarLines:
    """For a terminal: lines scroll above one bar for each host that is learning."""

    draws = True

    def __init__(self) -> None:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        from cli.output import console

        self._tasks: dict[str, TaskID] = {}
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            console=console(),
            refresh_per_second=2,
            transient=True,
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def say(self, line: str) -> None:
        self._progress.console.print(stamped(line))

    def show(self, hosts: Sequence[HostStatus]) -> None:
        learning = {host.host: host for host in hosts if host.phase == "learning"}
        for name in self._tasks.keys() - learning.keys():
            self._progress.remove_task(self._tasks.pop(name))
        for name, host in learning.items():
            words = safe(f"{name}: {host.activity}")
            if name in self._tasks:
                self._progress.update(self._tasks[name], completed=host.progress * 100, description=words)
            else:
                self._tasks[name] = self._progress.add_task(words, completed=int(host.progress * 100))
