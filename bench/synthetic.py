"""Synthetic telemetry in the spool, as an agent writes it: steady noise, with bursts in a tenth of the channels."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from hostsight.channel import Channel
from hostsight.clock import SECOND_NS, floor_second
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from ingest.spool import SpoolWriter

HOST = "synthetic"
_LEVEL, _BURST_LEVEL = 10.0, 85.0


def channels(count: int) -> tuple[Channel, ...]:
    """`busy_percent` of so many CPUs."""
    return tuple(
        Channel(HOST, "cpu", f"cpu{index}", "busy_percent", "gauge", "percent", 0.1, "synthetic")
        for index in range(count)
    )


class Feed:
    """Writes whole seconds, history at once and the present as it passes."""

    ticks_per_second = 10

    def __init__(self, data: DataFolder, settings: Settings, count: int) -> None:
        self._writer = SpoolWriter(data, settings.spool, HOST)
        self._channels = channels(count)
        self._random = np.random.default_rng(1)
        self._stop = threading.Event()
        self._writer.open(self._channels)

    def write_history(self, seconds: int) -> None:
        """The last so many seconds, without a burst."""
        now = floor_second(time.time_ns()) // SECOND_NS
        for second in range(now - seconds, now):
            for tick in range(self.ticks_per_second):
                self._append(second, tick, burst=False)
            self._writer.flush()

    @contextmanager
    def running(self, cycle_seconds: int, burst_seconds: int) -> Iterator[None]:
        """Feed in real time from a thread; each cycle ends with a burst."""
        thread = threading.Thread(target=self._run, args=(cycle_seconds, burst_seconds), name="feed")
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()
            self._writer.close()

    def _run(self, cycle_seconds: int, burst_seconds: int) -> None:
        second = time.time_ns() // SECOND_NS + 1
        while not self._stop.is_set():
            burst = second % cycle_seconds >= cycle_seconds - burst_seconds
            for tick in range(self.ticks_per_second):
                self._wait_until(second * SECOND_NS + tick * SECOND_NS // self.ticks_per_second)
                self._append(second, tick, burst=burst)
            second += 1
            self._wait_until(second * SECOND_NS)
            self._writer.flush()

    def _wait_until(self, wall_ns: int) -> None:
        self._stop.wait(max(0.0, (wall_ns - time.time_ns()) / SECOND_NS))

    def _append(self, second: int, tick: int, *, burst: bool) -> None:
        stamp = second * SECOND_NS + tick * SECOND_NS // self.ticks_per_second
        self._writer.append(stamp, 1 / self.ticks_per_second, self._values(burst=burst))

    def _values(self, *, burst: bool) -> NDArray[np.float32]:
        values = self._random.normal(_LEVEL, 1.0, len(self._channels))
        if burst:
            values[: max(1, len(values) // 10)] += _BURST_LEVEL - _LEVEL
        return values.astype(np.float32)
