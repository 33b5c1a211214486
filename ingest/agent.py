"""The collecting process: sampler to spool, a heartbeat, and a clean end on SIGTERM, SIGINT and SIGHUP."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from hostsight.clock import SECOND_NS, SystemClock
from hostsight.files import locked
from hostsight.folders import DataFolder
from hostsight.settings import Settings

if TYPE_CHECKING:
    from ingest.sampler import Sampler

_LEAN = {"OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Set before numpy and pyarrow are imported, which read them then: threads and memory pools that nothing here needs."""

_PR_SET_THP_DISABLE = 41
_NAP_SECONDS = 0.25
_SWITCH_SECONDS = 0.001
_DAY_NS = 86_400 * SECOND_NS


class Stopped(Exception):  # noqa: N818 - no error: the agent was asked to end
    """Raised from the agent's sleep, when nothing is half done."""


class AgentClock(SystemClock):
    """The system's clock, whose sleep ends once `stop` was called or `seconds` are over."""

    def __init__(self, seconds: float | None = None) -> None:
        self._stopped = False
        self._end_ns = None if seconds is None else self.monotonic_ns() + round(seconds * SECOND_NS)

    def stop(self, _signal: int = 0, _frame: FrameType | None = None) -> None:
        """May be called from a signal handler."""
        self._stopped = True

    def sleep(self, seconds: float) -> None:
        """Raises Stopped."""
        end = self.monotonic_ns() + round(seconds * SECOND_NS)
        while True:
            now = self.monotonic_ns()
            if self._stopped or (self._end_ns is not None and now >= self._end_ns):
                raise Stopped
            if now >= end:
                return
            time.sleep(min((end - now) / SECOND_NS, _NAP_SECONDS))


def run_agent(settings: Settings, data: DataFolder, *, seconds: float | None = None) -> None:
    """Collect into the spool of `data` until a signal comes or `seconds` are over.

    Raises LockedError where another agent holds `data`, StorageError where it cannot be written from the start,
    UsageError where the settings name no folder to read, SettingsError where they disable a collector that there is not. A spool that fails later is
    reported and tried again, and so is a collector.
    """
    for name, value in _LEAN.items():
        os.environ.setdefault(name, value)
    _refuse_huge_pages()
    data.create()
    with locked(data.agent_lock, "hostsight agent"):
        clock = AgentClock(seconds)
        with _signals(clock):
            _collect(settings, data, clock)


def _refuse_huge_pages() -> None:
    """A heap of many small pieces gains nothing by 2 MB pages, and keeps whole ones for what would fit into a few small ones."""
    ctypes.CDLL(None).prctl(_PR_SET_THP_DISABLE, 1, 0, 0, 0)


def _collect(settings: Settings, data: DataFolder, clock: AgentClock) -> None:
    from ingest.pulse import Pulse
    from ingest.recorder import Recorder, say
    from ingest.spool import SpoolWriter
    from ingest.watchdog import Watchdog

    sampler = _sampler(settings, data, clock)
    recorder = Recorder(SpoolWriter(data, settings.spool, settings.host), sampler.meter)
    pulse = Pulse(settings, data, clock)
    sys.setswitchinterval(_SWITCH_SECONDS)  # a reading in the background lets the tick go first
    watchdog = Watchdog(sampler)
    try:
        watchdog.start()
        sampler.open()
        gc.collect()
        gc.freeze()
        watchdog.start()
        while True:
            known = sampler.advance()
            if sampler.meter.clock_step:
                say(_step(sampler.meter.clock_step))
            if known or sampler.meter.ticks == 1:
                watchdog.start()
                recorder.take(known)
                pulse.beat(sampler, recorder)
    except Stopped:
        return
    finally:
        watchdog.stop()
        recorder.take(sampler.settle())
        recorder.close()
        sampler.close()


def _sampler(settings: Settings, data: DataFolder, clock: AgentClock) -> Sampler:
    from ingest.collectors.equipment import EquipmentCollector
    from ingest.equipment import Memory
    from ingest.registry import enabled
    from ingest.sampler import Sampler, host_of

    host = host_of(settings.agent)
    collectors = enabled(settings.agent.disabled, settings.agent.collectors)
    for collector in collectors:
        if isinstance(collector, EquipmentCollector):
            collector.memory = Memory(data.equipment, host)
    return Sampler(collectors, host, settings, clock, not_before_ns=_not_before(data, clock))


def _step(seconds: float) -> str:
    if seconds > 0:
        return f"the wall clock was set forward by {seconds:.3f} s; time stamps follow it"
    return (
        f"the wall clock was set back by {-seconds:.3f} s; time stamps go on, and near it a little each tick"
    )


def _not_before(data: DataFolder, clock: AgentClock) -> int:
    """Where the stamps of an earlier agent ended, if the clock was set back since; 0 otherwise.

    Stamps more than a day ahead came from a clock that was wrong, and are not followed.
    """
    from ingest.heartbeat import PERIOD_SECONDS, read_heartbeat

    beat = read_heartbeat(data)
    now = clock.wall_ns()
    if beat is None or not now < beat.stamp_ns < now + _DAY_NS:
        return 0
    return beat.stamp_ns + (PERIOD_SECONDS + 1) * SECOND_NS


@contextmanager
def _signals(clock: AgentClock) -> Iterator[None]:
    """Let the signals that end a process stop `clock` instead; only a main thread may."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {number: signal.signal(number, clock.stop) for number in ours}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
