"""What commands that read a recording are told about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from ingest.naming import Naming
    from ingest.recording import Recording

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Choice:
    """Which columns of a recording, and what they are."""

    exclude: tuple[str, ...]
    time: str | None
    map_path: Path | None

    def read(self, *paths: Path) -> list[Recording]:
        from ingest.recording import read_recordings

        return read_recordings(paths, exclude=self.exclude, time=self.time)

    def naming(self, *recordings: Recording) -> Naming:
        """What the map says; tells of what it says of columns that none of the recordings has."""
        from cli.output import narrate, safe
        from ingest.naming import read_naming

        found = read_naming(self.map_path)
        for entry in found.without_column([name for one in recordings for name in one.names]):
            narrate(safe(f"{self.map_path}: no column is named by {entry}"))
        return found


def recording_options(function: F) -> F:
    """Hands the command a `choice`."""

    @click.option(
        "--exclude", metavar="NAME", multiple=True, help="Leave this column or channel out; may be repeated."
    )
    @click.option(
        "--time",
        metavar="COLUMN",
        help="The time column; otherwise ts, time, timestamp, datetime, date or _time.",
    )
    @click.option(
        "--map", "map_path", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
        help="TOML file that says what the columns are; otherwise their names tell.",
    )  # fmt: skip
    @wraps(function)
    def chosen(
        *args: Any, exclude: tuple[str, ...], time: str | None, map_path: Path | None, **kwargs: Any
    ) -> Any:
        return function(*args, choice=Choice(exclude, time, map_path), **kwargs)

    return chosen  # type: ignore[return-value]  # click hands it what `function` lacks
