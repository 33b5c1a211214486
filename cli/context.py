"""What a command line names: the data folder and the settings."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hostsight.errors import StorageError, UnavailableError, UsageError
from hostsight.files import storage_error

if TYPE_CHECKING:
    from hostsight.folders import DataFolder
    from hostsight.settings import Settings

_KEY = "hostsight.data"


def keep_data(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    """Callback of `--data`; the one after the command's name wins."""
    if value is not None:
        ctx.meta[_KEY] = value


def data_folder() -> DataFolder:
    """The data folder this command line names, which may not exist yet; raises UsageError, StorageError."""
    from hostsight import configuration

    data = configuration.data_folder(click.get_current_context().meta.get(_KEY))
    _check_folder(data.root)
    return data


def _check_folder(path: Path) -> None:
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except FileNotFoundError:
        return
    except OSError as error:
        raise storage_error(error, "reading", path) from error
    if not is_folder:
        raise UsageError(
            f"{path} is no folder; --data and HOSTSIGHT_DATA name the folder that telemetry is kept in"
        )
    if not os.access(path, os.R_OK | os.X_OK):
        raise StorageError(
            f"{path} may not be read by this user; mend its rights, become its owner, or choose another folder with --data"
        )


def telemetry_folder() -> DataFolder:
    """The data folder, for commands that only read; raises UnavailableError where nothing was ever written."""
    data = data_folder()
    if not data.state_db.exists() and not data.heartbeat.exists():
        raise UnavailableError(
            f"{data.root} holds no telemetry yet; start `hostsight up` there, or name another folder with --data"
        )
    return data


def load_settings(data: DataFolder, flags: Mapping[tuple[str, str], object] | None = None) -> Settings:
    """Settings of `data` with `flags` ((section, key) -> value; None is not given) on top; windows fit the store."""
    from hostsight import configuration
    from hostsight.cadence import paced

    return paced(configuration.load_settings(data, flags))


def collection_settings(
    data: DataFolder, root: str | None, flags: Mapping[tuple[str, str], object] | None = None
) -> Settings:
    """`load_settings` for what reads the kernel's files.

    Raises UsageError where `root` holds neither /proc nor /sys, SettingsError where a disabled collector does not exist.
    """
    from ingest.registry import enabled

    settings = load_settings(data, {("agent", "root"): root, **(flags or {})})
    _check_tree(Path(settings.agent.root))
    enabled(settings.agent.disabled, settings.agent.collectors)
    return settings


def _check_tree(tree: Path) -> None:
    try:
        held = [name for name in ("proc", "sys") if (tree / name).is_dir()]
    except OSError as error:
        raise UsageError(
            f"{tree} cannot be read ({error.strerror}); mend its rights, or become root"
        ) from error
    if not held:
        raise UsageError(f"{tree} holds neither proc nor sys; --root names the folder that holds them")
