"""The spool's writer: ticks go to disk once a second, in segments that never grow beyond a bound together.

At most the unflushed second is lost by kill -9. A write that fails leaves no trace, loses its own ticks alone (counted)
and may be followed by one that succeeds. Nothing is synced to the disk: after a power failure a segment may end early,
which its reader takes as a torn tail.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hostsight.channel import Channel
from hostsight.errors import StorageError
from hostsight.files import delete, make_folder, storage_error
from hostsight.folders import DataFolder
from hostsight.settings import SpoolSettings
from ingest.pending import Pending
from ingest.segment import SegmentName, header_frame, list_segments


@dataclass(slots=True)
class _OpenSegment:
    name: SegmentName
    path: Path
    fd: int
    length: int
    last_ns: int


class SpoolWriter:
    """Appends the ticks of one host: `open` a layout, `append` each tick, `flush` after each second, `close`.

    `bytes` is the size of all segments; `dropped_segments` and `dropped_bytes` count what the bound deleted,
    `lost_values` the finite values that could not be written.
    """

    def __init__(self, data: DataFolder, settings: SpoolSettings, host: str) -> None:
        self._folder = data.spool
        self._settings = settings
        self._host = host
        self._segment: _OpenSegment | None = None
        self._closed: dict[SegmentName, int] = {}
        self._channels: tuple[Channel, ...] = ()
        self._pending = Pending(0)
        self.dropped_segments = 0
        self.dropped_bytes = 0
        self.lost_values = 0

    @property
    def bytes(self) -> int:
        return sum(self._closed.values()) + (self._segment.length if self._segment else 0)

    def open(self, channels: Sequence[Channel]) -> None:
        """Take `channels` as the layout of the ticks to come; those before are flushed. Raises as `flush` does."""
        try:
            self.close()
        finally:
            self._channels = tuple(channels)
            self._pending = Pending(len(self._channels))
            self._closed = self._sizes()

    def append(self, ts_ns: int, dt: float, values: NDArray[np.float32]) -> None:
        """Keep one tick for the next flush. values: [channels]; what is not finite is absent."""
        self._pending.append(ts_ns, dt, values)

    def flush(self, *, partial: bool = False) -> None:
        """Write what was appended as one batch; the second of its last tick must be over, or the batch is `partial`.

        Raises FullError, StorageError: the ticks are lost and counted, the segment is as it was before.
        """
        if not self._pending or not self._channels:
            return
        try:
            self._write(self._pending, partial)
        except StorageError:
            self.lost_values += self._pending.finite()
            raise
        finally:
            self._pending.clear()
        self._drop_oldest()

    def close(self) -> None:
        """Flush and end the segment; the next tick starts another. Raises as `flush` does."""
        try:
            self.flush(partial=True)
        finally:
            self._end_segment()

    def _write(self, ticks: Pending, partial: bool) -> None:
        if self._segment is not None and self._is_over(self._segment, ticks.first_ns):
            self._end_segment()
        header = b""
        if self._segment is None:
            self._segment = self._new_segment(ticks.first_ns)
            header = header_frame(self._host, self._channels, ticks.first_ns)
        self._write_whole(self._segment, memoryview(header + ticks.frame(partial=partial)))
        self._segment.last_ns = ticks.last_ns

    def _is_over(self, segment: _OpenSegment, next_ns: int) -> bool:
        length_ns = max(1, self._settings.segment.ns)
        return (
            next_ns // length_ns != segment.name.start_ns // length_ns
            or next_ns <= segment.last_ns
            or segment.length > self._settings.max_bytes // 4
            or not os.fstat(segment.fd).st_nlink
        )

    def _new_segment(self, start_ns: int) -> _OpenSegment:
        make_folder(self._folder)
        self._closed = self._sizes()
        number = max((name.number for name in self._closed), default=0) + 1
        name = SegmentName(number, self._host, start_ns)
        path = self._folder / str(name)
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise storage_error(error, "creating", path) from error
        return _OpenSegment(name, path, fd, 0, start_ns - 1)

    def _write_whole(self, segment: _OpenSegment, content: memoryview) -> None:
        """All of `content`, or the segment as it was."""
        try:
            _pwrite_all(segment.fd, content, segment.length)
        except OSError as error:
            self._cut_back(segment)
            raise storage_error(error, "writing", segment.path) from error
        segment.length += len(content)

    def _cut_back(self, segment: _OpenSegment) -> None:
        """Take a torn tail away; an empty segment goes, and so does one that cannot be cut: it ends with its tail."""
        try:
            os.ftruncate(segment.fd, segment.length)
            if segment.length:
                return
            segment.path.unlink(missing_ok=True)
        except OSError:
            pass
        self._end_segment()

    def _end_segment(self) -> None:
        """Raises FullError, StorageError: some file systems tell only now that a write failed."""
        segment, self._segment = self._segment, None
        if segment is None:
            return
        if segment.length:
            self._closed[segment.name] = segment.length
        try:
            os.close(segment.fd)
        except OSError as error:
            raise storage_error(error, "closing", segment.path) from error

    def _sizes(self) -> dict[SegmentName, int]:
        return {name: _size(self._folder / str(name)) for name in list_segments(self._folder)}

    def _drop_oldest(self) -> None:
        while self._closed and self.bytes > self._settings.max_bytes:
            oldest = min(self._closed)
            freed = delete(self._folder / str(oldest))
            self._closed.pop(oldest)
            self.dropped_bytes += freed
            self.dropped_segments += freed > 0


def _pwrite_all(fd: int, content: memoryview, offset: int) -> None:
    while content:
        written = os.pwrite(fd, content, offset)
        content, offset = content[written:], offset + written


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
