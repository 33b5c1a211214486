"""Which features a model was learnt from: a model is of no use on others."""

from __future__ import annotations

import hashlib
from importlib.resources import files

from hostsight.settings import WindowSettings
from sql.schemas import FEATURE_NAMES


def feature_set(window: WindowSettings) -> str:
    """SHA-256 over the features' names, the window settings and the SQL files that compute panes, windows, derived metrics."""
    digest = hashlib.sha256()
    for part in (*FEATURE_NAMES, str(window.pane), str(window.length), str(window.stride)):
        digest.update(f"{part}\n".encode())
    for name, text in _statements():
        digest.update(f"{name}\n{text}\n".encode())
    return digest.hexdigest()


def _statements() -> list[tuple[str, str]]:
    package = files("sql")
    own = [package.joinpath(name) for name in ("panes.sql", "derive.sql", "windows.sql")]
    derived = [file for file in package.joinpath("derived").iterdir() if file.name.endswith(".sql")]
    return sorted((file.name, file.read_text("utf-8")) for file in (*own, *derived) if file.is_file())
