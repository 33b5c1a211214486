"""A kernel file whose descriptor stays open, so that reading it again costs two system calls and no path walk."""

from __future__ import annotations

import errno
import os
from collections import deque
from pathlib import Path

_LIMIT = 64 * 2**20
_MARGIN = 512
_WHOLE = 1536
"""The kernel hands most of /proc out a page of whole records at a time. None is longer than those before it by as much as is
left of half a page (/proc/interrupts, whose lines are longer than its header, comes closest): what is shorter is all."""
_GONE = frozenset({errno.ENODEV, errno.ESRCH, errno.ENOENT, errno.ESTALE, errno.ENXIO})


def read_whole(path: Path) -> bytes:
    """All of a file, for once; nothing where it cannot be read."""
    file = KeptFile(path)
    try:
        return file.read()
    except OSError:
        return b""
    finally:
        file.close()


class KeptFile:
    """A file of /proc or /sys, opened at the first read and kept open until `close`.

    Every read gives the whole content as of now, or as of the oldest `capture` that no read has given yet. An OSError
    (FileNotFoundError, PermissionError ...) means that there is none; the next read looks for the file again, so one
    that vanished and came back is found.
    """

    __slots__ = ("_captured", "_fd", "_identity", "_last", "_size", "path")

    def __init__(self, path: Path | str) -> None:
        self.path = os.fspath(path)
        self._fd = -1
        self._identity: tuple[int, int] | None = None
        self._last: bytes | None = None
        self._size = 4096
        self._captured: deque[bytes | OSError] = deque()

    def capture(self) -> None:
        """Read the file now, for a later `read` to give or to raise."""
        try:
            self._captured.append(self._read())
        except OSError as error:
            self._captured.append(error)

    def forget(self) -> None:
        """Drop what was captured and not read."""
        self._captured.clear()

    def read(self) -> bytes:
        """The whole content; raises OSError."""
        if not self._captured:
            return self._read()
        found = self._captured.popleft()
        if isinstance(found, OSError):
            raise found
        return found

    def _read(self) -> bytes:
        if self._fd < 0:
            self._open()
        elif self._identity is not None and self._replaced():
            self._reopen()
        try:
            return self._content()
        except OSError as error:
            if error.errno not in _GONE:
                raise
        self._reopen()
        return self._content()

    def read_changed(self) -> bytes | None:
        """The whole content, or None where it equals what the last call saw; raises OSError."""
        content = self.read()
        if content == self._last:
            return None
        self._last = content
        return content

    def close(self) -> None:
        """Close the descriptor and forget what was read and captured; a later read opens the file again."""
        self.forget()
        self._shut()

    def _shut(self) -> None:
        self._last = None
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def _open(self) -> None:
        self._fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        status = os.fstat(self._fd)
        in_kernel = status.st_blocks == 0 and status.st_size in (0, 4096) and os.major(status.st_dev) == 0
        self._identity = None if in_kernel else (status.st_dev, status.st_ino)

    def _reopen(self) -> None:
        self._shut()
        self._open()

    def _replaced(self) -> bool:
        """A captured tree's file may be deleted or replaced while its old content can still be read."""
        status = os.stat(self.path)  # noqa: PTH116 - a Path costs more than the call
        return (status.st_dev, status.st_ino) != self._identity

    def _content(self) -> bytes:
        """A short read is not always the end; one more read tells."""
        first = os.pread(self._fd, self._size, 0)
        if not first or (len(first) < _WHOLE and self._identity is None):
            return first
        rest = os.pread(self._fd, self._size, len(first))
        if not rest:
            return first
        chunks, total = [first, rest], len(first) + len(rest)
        while chunk := os.pread(self._fd, self._size, total):
            chunks.append(chunk)
            total += len(chunk)
            if total > _LIMIT:
                raise OSError(errno.EFBIG, f"more than {_LIMIT} bytes", self.path)
        self._size = max(self._size, min(total + _MARGIN, 2**20))
        return b"".join(chunks)
