"""All errors that hostsight raises on purpose.

HostsightError                 exit code 1; `str()` is one sentence for a person: what, where, remedy
├── UsageError                 exit code 2; a wrong flag, argument, query or setting
│   └── SettingsError          a setting that names file or variable, key and the nearest known key
├── UnavailableError           exit code 3; something needed is not there now; trying again may help
│   ├── NoDataError            there is nothing to read on this host (no such device, not supported)
│   ├── LockedError            another process holds the data folder
│   └── StoreUnavailableError  the store cannot be reached, or takes and gives nothing now
├── StorageError               exit code 1; the spool, lake or state database cannot be read or written
│   ├── CorruptError           bytes on disk are not what was written
│   ├── RefusedError           the store will never take what was sent to it
│   └── FullError              no space left, or the quota is used up
└── ModelError                 exit code 1; a model cannot be fitted, read or used
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import ClassVar


class HostsightError(Exception):
    """Root of the tree above."""

    exit_code: ClassVar[int] = 1


class UsageError(HostsightError):
    exit_code = 2


class SettingsError(UsageError):
    pass


class UnavailableError(HostsightError):
    exit_code = 3


class NoDataError(UnavailableError):
    """`reason` is one of `no such device`, `permission`, `not supported`, `N/A`; `remedy` may be empty."""

    def __init__(self, message: str, reason: str = "no such device", remedy: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.remedy = remedy


class LockedError(UnavailableError):
    pass


class StoreUnavailableError(UnavailableError):
    """`retry_seconds` is how long the store itself asks to wait, if it did; `status` its HTTP status, 0 without an answer."""

    def __init__(self, message: str, *, status: int = 0, retry_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.status = status
        self.retry_seconds = retry_seconds


class StorageError(HostsightError):
    pass


class CorruptError(StorageError):
    pass


class FullError(StorageError):
    pass


class RefusedError(StorageError):
    """`words` are the store's own; `too_large`: smaller requests may do."""

    def __init__(self, message: str, *, words: str, too_large: bool = False) -> None:
        super().__init__(message)
        self.words = words
        self.too_large = too_large


class ModelError(HostsightError):
    pass


def nearest(word: str, known: Iterable[str], most: int = 1) -> str:
    """` (did you mean 'x'?)` for the closest known word, or that many; an empty string where none is close."""
    close = difflib.get_close_matches(word, list(known), n=most, cutoff=0.6)
    return f" (did you mean {' or '.join(map(repr, close))}?)" if close else ""
