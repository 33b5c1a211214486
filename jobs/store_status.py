"""How much room the telemetry takes, and how much is left."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from hostsight.folders import DataFolder
from ingest.heartbeat import Heartbeat
from jobs.progress import Progress


class StoreStatus(msgspec.Struct, frozen=True, kw_only=True):
    """`free_bytes` is what an ordinary user may still write there; None where the folder cannot be asked."""

    kind: str = "embedded"
    spool_bytes: int = 0
    spool_dropped_segments: int = 0
    lake_bytes: int = 0
    free_bytes: int | None = None


def read_store(data: DataFolder, beat: Heartbeat | None, progress: Progress | None) -> StoreStatus:
    return StoreStatus(
        kind=progress.store if progress else "embedded",
        spool_bytes=folder_bytes(data.spool),
        spool_dropped_segments=beat.spool_dropped_segments if beat else 0,
        lake_bytes=folder_bytes(data.lake),
        free_bytes=_free_bytes(data.root),
    )


def folder_bytes(folder: Path) -> int:
    """Sum of the sizes of all files below; a file that goes meanwhile counts nothing."""
    total = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    total += folder_bytes(Path(entry.path))
                else:
                    total += _size(entry)
    except OSError:
        return total
    return total


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0


def _free_bytes(root: Path) -> int | None:
    try:
        stat = os.statvfs(root)
    except OSError:
        return None
    return stat.f_bavail * stat.f_frsize
