"""What processes that run for long tell whoever keeps their stderr."""

from __future__ import annotations

import sys
import traceback


def say(who: str, text: str, cause: BaseException | None = None) -> None:
    """One line on stderr, after `cause`'s traceback. One that is closed, or whose disk is full, is not worth stopping for."""
    try:
        if cause is not None:
            traceback.print_exception(cause, file=sys.stderr)
        print(f"{who}: {text}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        return
