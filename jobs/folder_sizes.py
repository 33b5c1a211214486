"""How much lies below a folder whose files never change, asked for again and again."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from hostsight.clock import SECOND_NS
from hostsight.folders import SET_ASIDE

_SETTLED_NS = 2 * SECOND_NS
"""A folder that changed so lately may change again within the same time stamp of its file system."""


@dataclass(frozen=True, slots=True)
class Listing:
    """One folder. damaged: how many of its files were set aside."""

    modified_ns: int
    bytes: int
    damaged: int
    folders: tuple[str, ...]


class FolderSizes:
    """Lists a folder again only when it has changed: files are renamed into it and deleted, never written in place.

    So a size of one that is being written is that of its last change. What goes meanwhile is left out, and so is what may
    not be read.
    """

    def __init__(self) -> None:
        self._known: dict[str, Listing] = {}

    def measure(self, root: str) -> tuple[int, int]:
        """(bytes, files that were set aside) below `root`."""
        seen: dict[str, Listing] = {}
        for folder, listing in self._walk(root):
            seen[folder] = listing
        settled_ns = time.time_ns() - _SETTLED_NS
        self._known = {folder: one for folder, one in seen.items() if one.modified_ns < settled_ns}
        return sum(one.bytes for one in seen.values()), sum(one.damaged for one in seen.values())

    def _walk(self, folder: str) -> Iterator[tuple[str, Listing]]:
        try:
            modified_ns = os.stat(folder).st_mtime_ns  # noqa: PTH116  # thousands of folders each second
            listing = self._known.get(folder)
            if listing is None or listing.modified_ns != modified_ns:
                listing = _list(folder, modified_ns)
        except OSError:
            return
        yield folder, listing
        for below in listing.folders:
            yield from self._walk(below)


def _list(folder: str, modified_ns: int) -> Listing:
    size, damaged, folders = 0, 0, []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
                continue
            try:
                size += entry.stat(follow_symlinks=False).st_size
            except OSError:
                continue
            damaged += entry.name.endswith(SET_ASIDE)
    return Listing(modified_ns, size, damaged, tuple(folders))
