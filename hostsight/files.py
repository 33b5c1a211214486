"""Small durable files: written beside their place and renamed into it."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hostsight.errors import FullError, LockedError, StorageError, UsageError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_LOCK_ATTEMPTS = 3
_LOCK_PAUSE_SECONDS = 0.02


def storage_error(error: OSError, doing: str, path: Path, remedy: str = "") -> StorageError:
    """The hostsight error for an OSError met while `doing` something at `path`; remedy: for a place outside the data folder."""
    elsewhere = remedy or "choose another folder with --data"
    if error.errno in _FULL:
        room = remedy or "lower [spool] max_bytes or [retention]"
        return FullError(f"no space left while {doing} {path}; free some, or {room}")
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return StorageError(f"{path} may not be written ({error.strerror}); {elsewhere}")
    return StorageError(f"{error.strerror or error} while {doing} {path}; check that place, or {elsewhere}")


def unreadable(error: OSError, path: Path) -> UsageError:
    """The hostsight error for an OSError met while reading a file that a person named."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    return UsageError(f"{path} cannot be read ({reason}); correct the path or its rights")


def write_atomic(
    path: Path, content: bytes, *, sync: bool = False, mode: int = 0o600, remedy: str = ""
) -> None:
    """Replace `path` with `content` in one step, whatever the umask. Raises StorageError, FullError, with the remedy."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "wb") as file:
            os.fchmod(fd, mode)
            file.write(content)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        discard(part)
        raise storage_error(error, "writing", path, remedy) from error


def write_report(path: Path, content: bytes) -> None:
    """Replace `path`, by which a process says how it is. Raises StorageError, FullError.

    On a full disk it is written over the one before, which takes no space: that is when people ask.
    """
    try:
        write_atomic(path, content)
    except FullError:
        if not _write_over(path, content):
            raise


def _write_over(path: Path, content: bytes) -> bool:
    """Whether it worked. A reader that comes in between finds no report, as in the first seconds of a process."""
    try:
        with path.open("r+b", buffering=0) as file:
            written = file.write(content)
            file.truncate(written)
    except OSError:
        return False
    return written == len(content)


def discard(part: Path) -> None:
    """Delete what a failed write left, where that is possible: a disk that fails may have become read-only."""
    with suppress(OSError):
        part.unlink(missing_ok=True)


def delete(path: Path) -> int:
    """Delete a file; the bytes freed, 0 where it was gone already. Raises StorageError."""
    try:
        size = path.stat().st_size
        path.unlink()
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise storage_error(error, "deleting", path) from error
    return size


def make_folder(path: Path, remedy: str = "") -> Path:
    """Create `path` with mode 0700 and its parents; raises StorageError with the remedy."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(error, "creating", path, remedy) from error
    return path


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Hold an exclusive lock on `path`, which lies in `run/` of a data folder, for as long as this process lives.

    Raises LockedError at once, or as good as: `lock_holder` holds a lock for an instant.
    """
    make_folder(path.parent)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise storage_error(error, "opening", path) from error
    try:
        try:
            _lock(fd)
        except BlockingIOError as error:
            holder = _holder(fd) or "unknown"
            raise LockedError(
                f"{what} is already running on {path.parent.parent} (process {holder}); stop it, or choose another folder with --data"
            ) from error
        with suppress(OSError):  # the lock holds on a full disk too; the number only helps the message
            os.ftruncate(fd, 0)
            os.pwrite(fd, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(fd)


def _lock(fd: int) -> None:
    """Raises BlockingIOError where another process holds it for longer than an instant."""
    for _ in range(_LOCK_ATTEMPTS - 1):
        with suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(_LOCK_PAUSE_SECONDS)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock_holder(path: Path) -> int | None:
    """The process that holds `locked(path)`: 0 where its number is unknown, None where nobody does or it may not be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder(fd)
    except OSError:
        return None
    finally:
        os.close(fd)
    return None


def _holder(fd: int) -> int:
    """What its holder wrote into a lock; 0 where there was no room to."""
    number = os.pread(fd, 32, 0).strip()
    return int(number) if number.isdigit() else 0
