"""The CPU time and the memory of another process."""

from __future__ import annotations

import time
from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True)
class Usage:
    """What one process used between two instants."""

    cpu_seconds: float
    wall_seconds: float
    rss_bytes: int


class Stopwatch:
    """Measures the CPU time of another process, to the nanosecond."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._clock = (~pid << 3) | 2  # clock_getcpuclockid(3)
        self._cpu_ns = self._wall_ns = 0
        self.start()

    def start(self) -> None:
        self._cpu_ns, self._wall_ns = time.clock_gettime_ns(self._clock), time.monotonic_ns()

    def stop(self) -> Usage:
        cpu_ns = time.clock_gettime_ns(self._clock) - self._cpu_ns
        wall_ns = time.monotonic_ns() - self._wall_ns
        return Usage(cpu_ns / 1e9, wall_ns / 1e9, psutil.Process(self._pid).memory_info().rss)
