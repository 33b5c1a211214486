"""CPU time, run queue, context switches and forks from /proc/stat, each tick; load average, each second.

Times are in ticks of USER_HZ, cumulative. The kernel adds guest time to user and nice as well; here it is apart.
They count by the clock tick, so a share taken over a short interval may be off, and pass 100 %, by a tick's length.
https://docs.kernel.org/filesystems/proc.html#miscellaneous-kernel-statistics-in-proc-stat
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from hostsight.channel import WHOLE_HOST
from hostsight.errors import NoDataError
from ingest.collector import Host, Metric, Origin, Slot, Tier, Values
from ingest.collectors.tables import why
from ingest.collectors.topology import cpu_nodes
from ingest.collectors.words import number, numbers
from ingest.kept_file import KeptFile

_PATH = "/proc/stat"
_PERCENT = 100.0 / os.sysconf("SC_CLK_TCK")
_PERIOD = 0.01
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
        self._names: list[bytes] = []
        self._devices = 0
        self._groups: Values | None = None
        self._counts: list[bytes] = []

    def open(self, host: Host) -> Sequence[Slot]:
        self.close()
        self._file = KeptFile(host.path(_PATH))
        try:
            times, counts = _parse(self._file.read())
        except OSError as error:
            raise NoDataError(f"{_PATH} cannot be read", why(error)) from error
        if not times:
            raise NoDataError(f"{_PATH} shows no CPU", "not supported")
        self._names = [words[0] for words in times]
        devices, self._groups = _group(self._names, host)
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
        times, counts = _parse(self._file.read())
        if [words[0] for words in times] != self._names:
            return False
        mixed = _mix(times)
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
        return ()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _parse(content: bytes) -> tuple[list[list[bytes]], dict[bytes, bytes]]:
    """The words of each CPU's line, and the first number of every line after them."""
    times: list[list[bytes]] = []
    counts: dict[bytes, bytes] = {}
    start, end = content.find(b"\nintr "), -1
    if start >= 0:
        end = content.find(b"\n", start + 1)
    lines = content.splitlines() if end < 0 else [*content[:start].split(b"\n"), *content[end:].split(b"\n")]
    for line in lines:
        if line.startswith(b"cpu"):
            words = line.split()
            if words[0] != b"cpu":
                times.append(words)
        elif line:
            name, _, rest = line.partition(b" ")
            counts[name] = rest.partition(b" ")[0]
    return times, counts


def _mix(times: Sequence[Sequence[bytes]]) -> Values:
    """_HOST_TIMES of each CPU, float64[CPUs, 10]. Fields that an older kernel lacks are 0, later ones are left out."""
    try:
        ticks = np.array([[*map(int, words[1 : _FIELDS + 1])] for words in times], dtype=np.float64)
    except (ValueError, OverflowError):
        padding = [b"0"] * _FIELDS
        ticks = np.array([numbers([*words[1:], *padding][:_FIELDS]) for words in times])
    mix = _MIX if ticks.shape[1] == _FIELDS else _MIX[: ticks.shape[1]]
    return ticks @ mix


def _group(names: Sequence[bytes], host: Host) -> tuple[list[str], Values | None]:
    """Devices below the host, and the matrix [devices, CPUs] that averages CPUs into each; None for the CPUs themselves."""
    if len(names) <= host.per_cpu_limit:
        return [name.decode("ascii", "replace") for name in names], None
    of_cpu = {b"cpu%d" % cpu: node for cpu, node in cpu_nodes(host).items()}
    node = [of_cpu.get(name, -1) for name in names]
    nodes = sorted({number for number in node if number >= 0})
    members = np.array([[float(of == one) for of in node] for one in nodes]).reshape(len(nodes), len(names))
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
            raise NoDataError("/proc/loadavg cannot be read", why(error)) from error
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
