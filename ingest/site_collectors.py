"""Collectors of the site's own: each Python file in the folder `[agent] collectors` is one; docs/site-collectors.md shows one.

They run with the rights of the agent, so a file that others may write is refused. What goes wrong while one is loaded
is told as that collector's failure, by its file's name, and stops nothing.
"""

from __future__ import annotations

import importlib.util
import os
import re
import stat
from collections.abc import Collection, Sequence
from pathlib import Path
from types import ModuleType
from typing import ClassVar, cast

from hostsight.channel import SUBSYSTEMS, Subsystem
from hostsight.errors import SettingsError
from ingest.collector import Collector, Host, Metric, Slot, Tier, Values
from ingest.patience import PATIENCE_SECONDS, within
from ingest.reader import FAULTS

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_METHODS = ("open", "read", "absent", "close")


class NotLoadedCollector:
    """Stands for a file, or the folder, that could not be loaded: it fails with the reason."""

    name: ClassVar[str] = "site"
    subsystem: ClassVar[Subsystem] = "agent"
    tier: ClassVar[Tier] = Tier.SLOW
    metrics: ClassVar[tuple[Metric, ...]] = ()

    def __init__(self, error: Exception) -> None:
        self._error = error

    def open(self, host: Host) -> Sequence[Slot]:
        raise self._error

    def read(self, out: Values) -> bool:
        return False

    def absent(self) -> Sequence[tuple[str, str, str]]:
        return ()

    def close(self) -> None: ...


def site_collectors(folder: str, taken: Collection[str]) -> tuple[Collector, ...]:
    """The collectors in `folder`, by file name; none where `folder` is empty. `taken`: names they may not have.

    A folder that is not there, or cannot be read, is told as one that failed.
    """
    if not folder:
        return ()
    try:
        paths = sorted(path for path in Path(folder).iterdir() if path.suffix == ".py")
    except OSError as error:
        said = (
            f"[agent] collectors = {folder} cannot be read ({error.strerror}); name a folder of Python files"
        )
        return (_not_loaded(Path(folder).name, SettingsError(said)),)
    found: dict[str, Collector] = {}
    for path in paths:
        one = _load(path, {*taken, *found})
        found[one.name] = one
    return tuple(found.values())


def _load(path: Path, taken: Collection[str]) -> Collector:
    try:
        _check_rights(path)
        return within(PATIENCE_SECONDS, lambda: _checked(_module(path), path, taken))
    except FAULTS as error:  # any fault of a site's file is shown as that file's
        reason = error if isinstance(error, Exception) else RuntimeError(f"{path} ends the process")
        return _not_loaded(path.stem, reason)


def _not_loaded(stem: str, reason: Exception) -> Collector:
    name = f"site:{stem}"
    kind = type(name, (NotLoadedCollector,), {"name": name})
    return cast(Collector, kind(reason))


def _check_rights(path: Path) -> None:
    """Raises PermissionError where somebody but root and the agent's own user may change what the agent would run."""
    for part in (path, path.parent):
        status = part.stat()
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(f"others may write {part}; chmod go-w {part}")
        if status.st_uid not in {0, os.geteuid()}:
            raise PermissionError(f"{part} belongs to another user; chown it to root")


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"hostsight_site_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _checked(module: ModuleType, path: Path, taken: Collection[str]) -> Collector:
    """The module's COLLECTOR, which must be a class that looks like a collector; raises TypeError or ValueError."""
    kind = getattr(module, "COLLECTOR", None)
    if not isinstance(kind, type):
        raise TypeError(f"{path} must set COLLECTOR to its collector's class")
    name, subsystem = getattr(kind, "name", None), getattr(kind, "subsystem", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"{path}: name = {name!r} must be a word of a-z, 0-9 and _")
    if name in taken:
        raise ValueError(f"{path}: there is another collector called '{name}'")
    if subsystem not in SUBSYSTEMS:
        raise ValueError(f"{path}: subsystem = {subsystem!r} must be one of {', '.join(SUBSYSTEMS)}")
    if not isinstance(getattr(kind, "tier", None), Tier):
        raise TypeError(f"{path}: tier must be a Tier")
    missing = [method for method in _METHODS if not callable(getattr(kind, method, None))]
    if missing:
        raise TypeError(f"{path}: {kind.__name__} lacks {', '.join(missing)}")
    if "background" not in vars(kind):
        kind.background = True  # type: ignore[attr-defined]  # a thread of its own, unless it says otherwise
    return cast(Collector, kind())
