"""Queries that were run before, newest first; kept between sessions in a small file of the user's own."""

from __future__ import annotations

from pathlib import Path

import msgspec
import platformdirs

from hostsight.errors import StorageError
from hostsight.files import make_folder, write_atomic

KEPT = 200


class History:
    """`path` None keeps nothing beyond the session; a file that cannot be read or written is done without."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._texts: list[str] | None = None

    @property
    def texts(self) -> list[str]:
        if self._texts is None:
            self._texts = self._load()
        return self._texts

    def add(self, text: str) -> None:
        """`text` becomes the newest; an older same one goes."""
        kept = [other for other in self.texts if other != text]
        self._texts = [text, *kept][:KEPT]
        if self._path is not None:
            try:
                make_folder(self._path.parent)
                write_atomic(self._path, msgspec.json.encode(self._texts))
            except StorageError:
                self._path = None

    def _load(self) -> list[str]:
        if self._path is None:
            return []
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=list[str])[:KEPT]
        except (OSError, msgspec.DecodeError):
            return []


def user_history() -> History:
    return History(Path(platformdirs.user_state_dir("hostsight")) / "queries.json")
