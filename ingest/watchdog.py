"""Interrupts a collector that holds up the tick; it then goes on in the background."""

from __future__ import annotations

import signal
import threading
from types import FrameType

from ingest.reader import HeldUpError
from ingest.sampler import Sampler

HELD_SECONDS = 5.0
_AGAIN_SECONDS = 1.0


class Watchdog:
    """An alarm that rings HELD_SECONDS after `start`, and every second from then on, until started anew: once a second will do.

    It raises HeldUpError in the main thread if a collector is at work there, in a tick that lasts for long: of ticks that are
    rare the alarm may ring in any. What the kernel does not let go of even for
    a signal stays stuck: such collectors must say `background = True`. Outside the main thread it does nothing.
    """

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler
        self._armed = threading.current_thread() is threading.main_thread()
        if self._armed:
            self._before = signal.signal(signal.SIGALRM, self._ring)

    def start(self) -> None:
        if self._armed:
            signal.setitimer(signal.ITIMER_REAL, HELD_SECONDS, _AGAIN_SECONDS)

    def stop(self) -> None:
        """For good."""
        if self._armed:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)

    def _ring(self, _signal: int, _frame: FrameType | None) -> None:
        if self._sampler.held_seconds >= HELD_SECONDS - _AGAIN_SECONDS:
            raise HeldUpError(f"held up the tick for {HELD_SECONDS:.0f} s")
