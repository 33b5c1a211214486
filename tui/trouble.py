"""Any error, as the sentence that a view shows while it goes on."""

from __future__ import annotations

from hostsight.errors import HostsightError


def trouble(error: Exception) -> str:
    """What hostsight raises on purpose, and the system's errors, speak for themselves."""
    if isinstance(error, HostsightError | OSError):
        return str(error)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"unexpected error, {what}; if it stays, leave the console and start it again"
