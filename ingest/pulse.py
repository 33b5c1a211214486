"""Writes the heartbeat when it is due."""

from __future__ import annotations

import os
import time

from hostsight.clock import SECOND_NS, Clock
from hostsight.errors import StorageError
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from ingest.heartbeat import PERIOD_SECONDS, Heartbeat, write_heartbeat
from ingest.kept_file import KeptFile
from ingest.recorder import Recorder, say
from ingest.sampler import Sampler


class Pulse:
    """One agent's heartbeat. Where it cannot be written the old one grows stale, which tells its readers."""

    def __init__(self, settings: Settings, data: DataFolder, clock: Clock) -> None:
        self._settings = settings
        self._data = data
        self._clock = clock
        self._statm = KeptFile("/proc/self/statm")
        self._page = os.sysconf("SC_PAGE_SIZE")
        self._started_ns = clock.wall_ns()
        self._due_ns = clock.monotonic_ns()
        self._before = (clock.monotonic_ns(), time.process_time_ns())
        self._failing = False

    def beat(self, sampler: Sampler, recorder: Recorder) -> None:
        """Write a heartbeat if PERIOD_SECONDS have passed, or all but half a second: this is called once a second."""
        if self._clock.monotonic_ns() < self._due_ns:
            return
        self._due_ns = self._clock.monotonic_ns() + PERIOD_SECONDS * SECOND_NS - SECOND_NS // 2
        try:
            write_heartbeat(self._data, self._compose(sampler, recorder))
        except StorageError as error:
            if not self._failing:
                say(f"the heartbeat cannot be written: {error}")
            self._failing = True
        else:
            self._failing = False

    def _compose(self, sampler: Sampler, recorder: Recorder) -> Heartbeat:
        meter = sampler.meter
        return Heartbeat(
            pid=os.getpid(),
            host=self._settings.host,
            root=self._settings.agent.root,
            started_ns=self._started_ns,
            updated_ns=self._clock.wall_ns(),
            tick_seconds=sampler.tick_seconds,
            ticks=meter.ticks,
            late_ticks=meter.late_ticks,
            lateness_p99_ms=1e3 * meter.lateness_p99(),
            lost_values=meter.lost_values,
            spool_bytes=meter.spool_bytes,
            spool_dropped_segments=meter.spool_dropped_segments,
            rss_bytes=int(self._statm.read().split()[1]) * self._page,
            cpu_percent=self._cpu_percent(),
            channels=len(sampler.channels),
            storage_error=recorder.error,
            collectors=sampler.collectors(),
            stamp_ns=sampler.stamp_ns,
        )

    def _cpu_percent(self) -> float:
        """Share of one CPU since the last heartbeat."""
        now = (self._clock.monotonic_ns(), time.process_time_ns())
        passed, used = now[0] - self._before[0], now[1] - self._before[1]
        self._before = now
        return 100.0 * used / passed if passed > 0 else 0.0
