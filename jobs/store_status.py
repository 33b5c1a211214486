"""How much room the telemetry takes, and how much is left."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from hostsight.folders import SET_ASIDE, DataFolder
from ingest.heartbeat import Heartbeat
from jobs.progress import Progress


class StoreStatus(msgspec.Struct, frozen=True, kw_only=True):
    """free_bytes: what an ordinary user may still write there; None where the folder cannot be asked.
    damaged_files: files of the lake that were set aside as `.bad`.
    """

    kind: str = "embedded"
    spool_bytes: int = 0
    spool_dropped_segments: int = 0
    lake_bytes: int = 0
    damaged_files: int = 0
    free_bytes: int | None = None


def read_store(
    data: DataFolder, beat: Heartbeat | None, progress: Progress | None, *, drained: bool = False
) -> StoreStatus:
    """`drained`: the spool is sent to InfluxDB."""
    lake = list(_files(data.lake))
    return StoreStatus(
        kind=progress.store if progress else "influx" if drained else "embedded",
        spool_bytes=sum(size for _, size in _files(data.spool)),
        spool_dropped_segments=beat.spool_dropped_segments if beat else 0,
        lake_bytes=sum(size for _, size in lake),
        damaged_files=sum(name.endswith(SET_ASIDE) for name, _ in lake),
        free_bytes=_free_bytes(data.root),
    )


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    """(name, size) of all files below; one that goes meanwhile is left out, and so is what may not be read."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _files(Path(entry.path))
            continue
        try:
            yield entry.name, entry.stat(follow_symlinks=False).st_size
        except OSError:
            continue


def _free_bytes(root: Path) -> int | None:
    try:
        stat = os.statvfs(root)
    except OSError:
        return None
    return stat.f_bavail * stat.f_frsize
