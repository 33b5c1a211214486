"""CPU time, run queue, context switches and forks from /proc/stat, each tick; load average, each second.

Times are in ticks of USER_HZ, cumulative. The kernel adds guest time to user and nice as well; here it is apart.
They count by the clock tick, so a share taken over a short interval may be off, and pass 100 %, by a tick's length.
https://docs.kernel.org/filesystems/proc.html#miscellaneous-kernel-statistics-in-proc-stat
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from hostsight.channel import WHOLE_HOST
from hostsight.errors import NoDataError
from ingest.collector import Host, Metric, Origin, Slot, Tier, Values
from ingest.collectors.tables import unreadable
from ingest.collectors.topology import cpu_nodes
from ingest.collectors.words import number, numbers
from ingest.kept_file import KeptFile

_PATH = "/proc/stat"
_PERCENT = 100.0 / os.sysconf("SC_CLK_TCK")
_PERIOD = 0.01
_CPU = re.compile(rb"cpu\d{1,6}\s")
_FIELDS = 10  # user nice system idle iowait irq softirq steal guest guest_nice


def _time(name: str, meaning: str) -> Metric:
    return Metric(name, "%", "rate", f"share of time {meaning}; a mean over CPUs", scale=_PERCENT)


BUSY = _time("busy_percent", "not idle and not waiting for I/O")
_TIMES = (
    BUSY,
    _time("user_percent", "in user space, without niced processes and guests"),
    _time("system_percent", "in the kernel, without interrupts"),
    _time("iowait_percent", "idle while a task of this CPU waits for I/O"),
    _time("irq_percent", "in hardware interrupts"),
    _time("softirq_percent", "in soft interrupts"),
    _time("steal_percent", "taken by the hypervisor for other guests"),
)
_HOST_TIMES = (
    *_TIMES,
    _time("nice_percent", "in niced processes"),
    _time("idle_percent", "idle"),
    _time("guest_percent", "running virtual machines"),
)
#                user nice sys idle iowait irq softirq steal guest guest_nice
_MIX = np.array([[1, 1, 1, 0, 0, 1, 1, 1, 0, 0],
                 [1, 0, 0, 0, 0, 0, 0, 0, -1, 0],
                 [0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
                 [0, 0, 0, 0, 1, 0, 0, 0, 0, 0],
                 [0, 0, 0, 0, 0, 1, 0, 0, 0, 0],
                 [0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
                 [0, 0, 0, 0, 0, 0, 0, 1, 0, 0],
                 [0, 1, 0, 0, 0, 0, 0, 0, 0, -1],
                 [0, 0, 0, 1, 0, 0, 0, 0, 0, 0],
                 [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]], dtype=np.float64).T.copy()  # fmt: skip
"""[fields of a line, _HOST_TIMES], the first columns of which are _TIMES; written here a metric a row."""

_COUNTS = {
    b"ctxt": Metric("context_switches_per_s", "switches/s", "rate", "context switches of all CPUs"),
    b"processes": Metric("forks_per_s", "forks/s", "rate", "processes and threads created"),
    b"procs_running": Metric("runnable_tasks", "tasks", "gauge", "tasks that run or wait for a CPU"),
    b"procs_blocked": Metric("blocked_tasks", "tasks", "gauge", "tasks that wait for I/O, uninterruptible"),
}


class CpuCollector:
    """Times by host and CPU, or by host and NUMA node where there are more CPUs than `per_cpu_limit`; counts."""

    name: ClassVar[str] = "cpu"
    origin: ClassVar[Origin] = Origin("/proc/stat", 0.01)
    tier: ClassVar[Tier] = Tier.FAST
    metrics: ClassVar[tuple[Metric, ...]] = (*_HOST_TIMES, *_COUNTS.values())

    def __init__(self) -> None:
        self._file: KeptFile | None = None
        self._cpus: list[float] = []
        self._devices = 0
        self._groups: Values | None = None
        self._counts: list[bytes] = []

    def open(self, host: Host) -> Sequence[Slot]:
        self.close()
        self._groups = None
        self._file = KeptFile(host.path(_PATH))
        try:
            self._cpus, _, counts = _parse(self._file.read())
        except OSError as error:
            raise unreadable(_PATH, error) from error
        if not self._cpus:
            raise NoDataError(f"{_PATH} shows no CPU", "not supported")
        devices, self._groups = _group([*map(int, self._cpus)], host)
        self._devices = len(devices)
        self._counts = [name for name in _COUNTS if name in counts]
        slots = [Slot("cpu", WHOLE_HOST, metric, _PERIOD, _PATH) for metric in _HOST_TIMES]
        slots += [Slot("cpu", device, metric, _PERIOD, _PATH) for device in devices for metric in _TIMES]
        slots += [
            Slot("cpu", WHOLE_HOST, _COUNTS[name], 0.001, f"{_PATH} {name.decode()}") for name in self._counts
        ]
        return slots

    def read(self, out: Values) -> bool:
        assert self._file is not None  # noqa: S101 - open() comes first
        cpus, times, counts = _parse(self._file.read())
        if cpus != self._cpus:
            return False
        mixed = times @ _MIX[: times.shape[1]]
        whole, each = len(_HOST_TIMES), len(_TIMES)
        split = whole + self._devices * each
        np.add.reduce(mixed, axis=0, out=out[:whole])
        out[:whole] /= len(times)
        grouped = mixed if self._groups is None else self._groups @ mixed
        out[whole:split].reshape(self._devices, each)[:] = grouped[:, :each]
        out[split:] = [number(counts.get(name, b"")) for name in self._counts]
        return True

    def captured(self) -> Sequence[KeptFile]:
        return [self._file] if self._file is not None else []

    def absent(self) -> Sequence[tuple[str, str, str]]:
        if self._groups is None:
            return ()
        what = f"values of single CPUs, of which there are {len(self._cpus):,}"
        return [(what, "over the limit", "raise [agent] per_cpu_limit")]

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _parse(content: bytes) -> tuple[list[float], Values, dict[bytes, bytes]]:
    """The numbers of the CPUs, the times of each, float64[CPUs, fields], and the first word of every line after them."""
    start = content.find(b"\nintr ")
    end = content.find(b"\n", start + 1) if start >= 0 else -1
    head, tail = (content[:start], content[end:]) if end >= 0 else (content, content)
    counts = {}
    for line in tail.split(b"\n"):
        name, _, rest = line.partition(b" ")
        counts[name] = rest.partition(b" ")[0]
    return *(_at_once(head) or _by_line(head)), counts


def _at_once(head: bytes) -> tuple[list[float], Values] | None:
    """None where a line is no row of numbers, or not as long as the others."""
    lines = head.count(b"\n")
    try:
        flat = np.fromstring(head.replace(b"cpu", b""), sep=" ")
    except ValueError:
        return None
    width, left = divmod(len(flat) + 1, lines + 1)
    if left or width < 2 or not lines == head.count(b"\ncpu") > 0 or not math.isfinite(flat.sum()):
        return None
    table = flat[width - 1 :].reshape(lines, width)
    return table[:, 0].tolist(), table[:, 1 : _FIELDS + 1]


def _by_line(head: bytes) -> tuple[list[float], Values]:
    """The same of any text, NaN where it does not say. Fields that an older kernel lacks are 0."""
    found = [line.split() for line in head.splitlines() if _CPU.match(line)]
    padding = [b"0"] * _FIELDS
    times = [numbers([*words[1:], *padding][:_FIELDS]) for words in found]
    return [float(words[0][3:]) for words in found], np.array(times).reshape(len(found), _FIELDS)


def _group(cpus: Sequence[int], host: Host) -> tuple[list[str], Values | None]:
    """Devices below the host, and the matrix [devices, CPUs] that averages CPUs into each; None for the CPUs themselves."""
    if len(cpus) <= host.per_cpu_limit:
        return [f"cpu{cpu}" for cpu in cpus], None
    nodes_of = cpu_nodes(host)
    node = [nodes_of.get(cpu, -1) for cpu in cpus]
    nodes = sorted({number for number in node if number >= 0})
    members = np.array([[float(of == one) for of in node] for one in nodes]).reshape(len(nodes), len(cpus))
    return [f"node{one}" for one in nodes], members / np.maximum(members.sum(axis=1, keepdims=True), 1)


_LOAD = (
    Metric("load_1m", "1", "gauge", "tasks that run, wait for a CPU or for I/O; mean over a minute"),
    Metric("load_5m", "1", "gauge", "the same over five minutes"),
    Metric("load_15m", "1", "gauge", "the same over fifteen minutes"),
    Metric("tasks", "tasks", "gauge", "processes and threads"),
)


class LoadCollector:
    """`0.20 0.18 0.12 1/80 11206` of /proc/loadavg; the kernel updates the averages every 5 s."""

    name: ClassVar[str] = "load"
    origin: ClassVar[Origin] = Origin("/proc/loadavg", 5.0)
    tier: ClassVar[Tier] = Tier.MEDIUM
    background: ClassVar[bool] = True
    metrics: ClassVar[tuple[Metric, ...]] = _LOAD

    def __init__(self) -> None:
        self._file: KeptFile | None = None

    def open(self, host: Host) -> Sequence[Slot]:
        self.close()
        self._file = KeptFile(host.path("/proc/loadavg"))
        try:
            self._file.read()
        except OSError as error:
            raise unreadable("/proc/loadavg", error) from error
        return [
            Slot("cpu", WHOLE_HOST, metric, 5.0 if metric.name != "tasks" else 0.001, "/proc/loadavg")
            for metric in _LOAD
        ]

    def read(self, out: Values) -> bool:
        assert self._file is not None  # noqa: S101 - open() comes first
        words = self._file.read().replace(b"/", b" ").split()
        if len(words) >= 5:
            out[:] = numbers([*words[:3], words[4]])
        return True

    def absent(self) -> Sequence[tuple[str, str, str]]:
        return ()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
