"""Agent and jobs behind a console or status lines: they run while this thread shows something."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Self

from hostsight.files import locked

if TYPE_CHECKING:
    from hostsight.folders import DataFolder
    from hostsight.settings import Settings

Say = Callable[[str], None]


class Supervision:
    """A context in which agent and jobs run; leaving it stops both and waits for them.

    `ended` is set once they have stopped: after `seconds`, or because they could not be started. `say` is called from
    another thread.
    """

    def __init__(self, settings: Settings, data: DataFolder, seconds: float | None, say: Say) -> None:
        self.ended = threading.Event()
        self._stop = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(
            target=self._run, args=(settings, data, seconds, say), name="supervision"
        )

    def stop(self) -> None:
        """Ask both to stop; `ended` follows."""
        self._stop.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        if self._error is not None and kind is None:
            raise self._error

    def _run(self, settings: Settings, data: DataFolder, seconds: float | None, say: Say) -> None:
        from jobs.up import supervise

        try:
            supervise(settings, data, seconds=seconds, stop=self._stop, say=say)
        except Exception as error:  # noqa: BLE001  raised again in the thread that waits
            self._error = error
        finally:
            self.ended.set()


def require_free(data: DataFolder) -> None:
    """Raises LockedError where an agent or the jobs already run on `data`: two of either would wait for ever."""
    with (
        locked(data.agent_lock, "an agent"),
        locked(data.serve_lock, "a pipeline (`hostsight serve`)"),
    ):
        pass


@contextmanager
def on_termination(act: Callable[[], None]) -> Iterator[None]:
    """SIGTERM and SIGHUP call `act` instead of ending the process, so that its children are stopped in order."""

    def handle(_number: int, _frame: FrameType | None) -> None:
        act()

    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
