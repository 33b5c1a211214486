"""Threads that take readings one after another, so that these find the processor's caches warm."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

import numpy as np

from hostsight.clock import SECOND_NS, Clock

WAIT_SECONDS = 0.5
"""A reading that waits longer for those before it is helped by another thread."""

_Job = Callable[[], None]


class Crew:
    """Begins with one thread. A reading that takes long, or for ever, costs the others WAIT_SECONDS, once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asked: list[_Job] = []
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._joined_ns = 0

    def ask(self, job: _Job) -> None:
        """Have `job` done, which must not raise, once `begin` is called."""
        self._asked.append(job)

    def begin(self) -> None:
        """Begin with what was asked for. Call it when this thread is about to sleep, or both would want the interpreter."""
        if not self._asked:
            return
        for job in self._asked:
            self._jobs.put(job)
        self._asked = []
        if not self._threads:
            self._join()

    def help(self, waiting_since_ns: int) -> None:
        """Call it for a job that has not begun; a thread joins where it waits for long, and none has joined since."""
        patience_ns = WAIT_SECONDS * SECOND_NS
        if self._clock.monotonic_ns() - max(waiting_since_ns, self._joined_ns) >= patience_ns:
            self._join()

    def close(self) -> None:
        """Let the threads end; one at work does so after it, or with the process."""
        for _ in self._threads:
            self._jobs.put(None)
        self._threads = []

    def _join(self) -> None:
        self._joined_ns = self._clock.monotonic_ns()
        thread = threading.Thread(target=self._work, name=f"reading {len(self._threads) + 1}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        with np.errstate(over="ignore", invalid="ignore"):  # a reading may be infinite
            while (job := self._jobs.get()) is not None:
                job()
