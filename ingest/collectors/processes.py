"""The few processes that use most CPU, memory and storage, from /proc/PID.

They are known by their rank, `top1` the first: a process is no device, since its number never comes again. The three
rankings are apart: the first by memory need not be the first by CPU. Names and arguments are not collected.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest
from pathlib import Path
from typing import ClassVar

import numpy as np

from hostsight.channel import WHOLE_HOST
from hostsight.errors import NoDataError
from ingest.collector import Host, Metric, Origin, Slot, Tier, Values
from ingest.collectors.pages import PAGE_BYTES, page_bytes
from ingest.collectors.smallfiles import names_in, read_small
from ingest.collectors.words import number

TOP = 5
_TICKS = os.sysconf("SC_CLK_TCK")
_SOURCE = "/proc/PID"

CPU = Metric(
    "process_cpu_percent", "%", "gauge", "CPU time of the process of this rank, as a share of one CPU"
)
RESIDENT = Metric("process_resident_bytes", "B", "gauge", "resident memory of the process of this rank")
TRANSFER = Metric(
    "process_io_bytes_per_s",
    "B/s",
    "gauge",
    "bytes that the process of this rank read from and wrote to storage",
)
ZOMBIES = Metric(
    "zombie_processes", "1", "gauge", "processes that ended and that their parent has not waited for"
)
STUCK = Metric(
    "uninterruptible_processes", "1", "gauge", "processes that sleep in the kernel and cannot be interrupted"
)


@dataclass(frozen=True, slots=True)
class Process:
    """One process; `moved` is NaN where its I/O cannot be read. `start` tells processes of the same number apart."""

    start: bytes
    state: bytes
    cpu_ticks: float
    resident_pages: float
    moved: float


class ProcessesCollector:
    """All processes each time; the I/O of one that used no CPU since the last time is not asked for again."""

    name: ClassVar[str] = "processes"
    origin: ClassVar[Origin] = Origin("/proc/PID/stat, /proc/PID/io", 0.01, "root for the I/O of other users")
    tier: ClassVar[Tier] = Tier.SLOW
    settles_later: ClassVar[bool] = True
    metrics: ClassVar[tuple[Metric, ...]] = (CPU, RESIDENT, TRANSFER, ZOMBIES, STUCK)

    def __init__(self, now: Callable[[], int] = time.monotonic_ns) -> None:
        self._now = now
        self._folder = Path("/proc")
        self._page = PAGE_BYTES
        self._last: dict[str, Process] = {}
        self._last_ns = 0
        self._refused = False

    def open(self, host: Host) -> Sequence[Slot]:
        self.close()
        self._folder = host.path("/proc")
        self._page = page_bytes(host)
        if not next(self._numbers(), ""):
            raise NoDataError("/proc shows no process", "not supported")
        slots = [Slot("cpu", WHOLE_HOST, metric, 0.001, _SOURCE) for metric in (ZOMBIES, STUCK)]
        ranks = [f"top{rank}" for rank in range(1, TOP + 1)]
        slots += [Slot("cpu", rank, CPU, 1 / _TICKS, _SOURCE) for rank in ranks]
        slots += [Slot("memory", rank, RESIDENT, 0.001, _SOURCE) for rank in ranks]
        slots += [Slot("storage", rank, TRANSFER, 0.001, f"{_SOURCE}/io") for rank in ranks]
        return slots

    def read(self, out: Values) -> bool:
        now_ns, now = self._now(), self._scan()
        seconds = (now_ns - self._last_ns) / 1e9
        pairs = [(self._last[pid], process) for pid, process in now.items() if self._is_known(pid, process)]
        states = [process.state for process in now.values()]
        out[:2] = states.count(b"Z"), states.count(b"D")
        _rank(
            out[2 : 2 + TOP],
            (100 * _grown(before.cpu_ticks, after.cpu_ticks) / _TICKS / seconds for before, after in pairs),
        )
        _rank(out[2 + TOP : 2 + 2 * TOP], (process.resident_pages * self._page for process in now.values()))
        _rank(out[2 + 2 * TOP :], (_grown(before.moved, after.moved) / seconds for before, after in pairs))
        self._last, self._last_ns = now, now_ns
        return True

    def absent(self) -> Sequence[tuple[str, str, str]]:
        if not self._refused:
            return ()
        return [("I/O of processes of other users", "permission", _remedy())]

    def close(self) -> None:
        self._last = {}
        self._refused = False

    def _is_known(self, pid: str, process: Process) -> bool:
        return pid in self._last and self._last[pid].start == process.start

    def _numbers(self) -> Iterator[str]:
        return (name for name in names_in(self._folder) if name.isdecimal() and name.isascii())

    def _scan(self) -> dict[str, Process]:
        found = {}
        for pid in self._numbers():
            process = self._process(pid)
            if process is not None:
                found[pid] = process
        return found

    def _process(self, pid: str) -> Process | None:
        """None where it has ended, or makes no sense."""
        folder = f"{self._folder}/{pid}"
        try:
            words = read_small(f"{folder}/stat").rpartition(b")")[2].split()
        except OSError:
            return None
        if len(words) < 22:
            return None
        ticks, before = number(words[11]) + number(words[12]), self._last.get(pid)
        if before is not None and before.start == words[19] and before.cpu_ticks == ticks:
            moved = before.moved
        else:
            moved = self._moved(folder)
        return Process(words[19], words[0], ticks, number(words[21]), moved)

    def _moved(self, folder: str) -> float:
        try:
            lines = dict(
                line.split(b":", 1) for line in read_small(f"{folder}/io").splitlines() if b":" in line
            )
        except PermissionError:
            self._refused = True
            return np.nan
        except OSError:
            return np.nan
        return number(lines.get(b"read_bytes", b"")) + number(lines.get(b"write_bytes", b""))


def _grown(before: float, after: float) -> float:
    """NaN where either is."""
    return float(np.maximum(after - before, 0.0))


def _rank(out: Values, amounts: Iterator[float]) -> None:
    """The largest of `amounts`, in order; NaN below the last."""
    largest = nlargest(len(out), (amount for amount in amounts if np.isfinite(amount)))
    out[:] = np.nan
    out[: len(largest)] = largest


def _remedy() -> str:
    """In most containers root itself may not look."""
    if os.geteuid():
        return "run the agent as root"
    return "give the agent CAP_SYS_PTRACE, which root lacks here (in a container: docker run --pid host --cap-add SYS_PTRACE)"
