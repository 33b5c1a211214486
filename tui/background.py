"""One thread that reads for the console, so that nothing waits on the thread that draws."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Background:
    """Runs calls one after another on a daemon thread of its own: connections stay on one thread, and a call that
    hangs in the kernel does not keep the program from ending."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `function`, or its exception; a call whose waiter has gone is not started."""
        future: Future[T] = Future()

        def call() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = function(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001  # handed to the waiter
                future.set_exception(error)
            else:
                future.set_result(result)

        self._start()
        self._calls.put(call)
        return await asyncio.wrap_future(future)

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while True:
            self._calls.get()()
