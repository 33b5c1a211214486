"""Any error, as one sentence for a person."""

from __future__ import annotations

import sqlite3

from hostsight.errors import HostsightError


def sentence(error: BaseException) -> str:
    """What `status` shows of an error; those that hostsight raises on purpose speak for themselves."""
    if isinstance(error, HostsightError):
        return str(error)
    if isinstance(error, sqlite3.OperationalError):
        return _sqlite(error)
    if isinstance(error, MemoryError):
        return "out of memory; give this process more, or collect fewer channels"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _sqlite(error: sqlite3.OperationalError) -> str:
    text = str(error)
    if "full" in text:
        return "no space left for state.db; free some, or lower [retention] max_bytes"
    if "readonly" in text:
        return "state.db may not be written; mend its rights, or choose another folder with --data"
    if "locked" in text:
        return "state.db is locked by another program for more than 10 s; end that program"
    return f"state.db: {text}"
