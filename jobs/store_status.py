"""How much room the telemetry takes, and how much is left."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import msgspec

from hostsight.folders import DataFolder
from ingest.heartbeat import Heartbeat
from jobs.folder_sizes import FolderSizes
from jobs.progress import Progress

_LAKES = FolderSizes()
_MEASURED_SECONDS = 10
"""The console and `up` ask each second; of a lake of months little changes in between."""


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
    lake_bytes, damaged = _lake(str(data.lake), int(time.monotonic() // _MEASURED_SECONDS))
    return StoreStatus(
        kind=progress.store if progress else "influx" if drained else "embedded",
        spool_bytes=_spool_bytes(data.spool),
        spool_dropped_segments=beat.spool_dropped_segments if beat else 0,
        lake_bytes=lake_bytes,
        damaged_files=damaged,
        free_bytes=_free_bytes(data.root),
    )


@lru_cache(maxsize=1)
def _lake(root: str, _period: int) -> tuple[int, int]:
    return _LAKES.measure(root)


def _spool_bytes(folder: Path) -> int:
    """The agent writes there in place; what goes meanwhile is left out."""
    size = 0
    for base, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                size += (Path(base) / name).stat().st_size
    return size


def _free_bytes(root: Path) -> int | None:
    try:
        stat = os.statvfs(root)
    except OSError:
        return None
    return stat.f_bavail * stat.f_frsize
