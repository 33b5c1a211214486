"""Work that may never return, waited for so long and no longer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

PATIENCE_SECONDS = 5.0

_Given = TypeVar("_Given")


def within(seconds: float, work: Callable[[], _Given]) -> _Given:
    """What `work` gives, or raises; TimeoutError where it takes longer: its thread is left behind, to end with the process."""
    given: list[_Given] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            given.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if raised:
        raise raised[0]
    if not given:
        raise TimeoutError(f"did not return within {seconds:g} s")
    return given[0]
