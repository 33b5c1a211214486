"""Batches that the server will never take: set aside in `spool/rejected/` with its words, within a bound.

A file is line protocol with a comment above that says why, so `influx write --file` sends it once the reason is mended.
"""

from __future__ import annotations

from pathlib import Path

from hostsight.files import delete, make_folder, write_atomic
from hostsight.folders import DataFolder
from ingest.influx.rejected_files import SUFFIX, rejected_files, rejected_folder
from ingest.segment import SegmentName, quote_host


class Rejected:
    """Files below `spool/rejected/`; over `max_bytes` the oldest go, and `deleted` counts them."""

    def __init__(self, data: DataFolder, max_bytes: int) -> None:
        self.folder = rejected_folder(data)
        self.deleted = 0
        self._max_bytes = max_bytes

    def set_aside(self, segment: SegmentName, offset: int, lines: bytes, words: str) -> Path:
        """Keep `lines`, which begin at byte `offset` of `segment`; doing it again changes nothing. Raises StorageError."""
        make_folder(self.folder)
        path = self.folder / f"{segment.number:010d}-{offset:010d}~{quote_host(segment.host)}{SUFFIX}"
        reason = "".join(f"# {line}\n" for line in words.splitlines())
        write_atomic(path, reason.encode("utf-8", "replace") + lines, sync=True)
        self._make_room(path)
        return path

    def _make_room(self, newest: Path) -> None:
        files = list(rejected_files(self.folder))
        size = sum(bytes_ for _, bytes_ in files)
        for path, bytes_ in files:
            if size <= self._max_bytes or path == newest:
                return
            delete(path)
            self.deleted += 1
            size -= bytes_
