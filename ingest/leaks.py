"""Finds a collector that opens descriptors and keeps them, before the agent has none left."""

from __future__ import annotations

import os
from contextlib import suppress

_EVERY = 16
"""Of the readings, so many apart are looked at; each one, once one has left a descriptor behind."""
_PATIENCE = 6
"""So many readings in a row must each have left some behind."""


class LeakError(Exception):
    """A collector leaks descriptors: it must not be read again."""


class LeakWatch:
    """One collector's readings, by the lowest free descriptor before and after: two system calls, and no list of /proc/self/fd."""

    def __init__(self) -> None:
        self._readings = 0
        self._before = -1
        self._rises = 0
        self._highest = -1

    def before(self) -> None:
        self._readings += 1
        looked = self._rises or self._readings % _EVERY == 0
        self._before = _lowest_free() if looked else -1

    def after(self) -> None:
        """Raises LeakError once _PATIENCE readings in a row each pushed the lowest free descriptor higher than ever before.

        What other threads have open for a moment moves it as well, but not up and up.
        """
        if self._before < 0:
            return
        free = _lowest_free()
        rose = free > max(self._before, self._highest)
        self._rises, self._highest = (self._rises + 1, free) if rose else (0, -1)
        if self._rises >= _PATIENCE:
            raise LeakError(
                "leaves open descriptors behind at each reading; it is off until the agent starts anew"
            )


def _lowest_free() -> int:
    """The descriptor that would be given next; a large number where none is left."""
    try:
        free = os.dup(0)
    except OSError:
        return 2**30
    with suppress(OSError):
        os.close(free)
    return free
