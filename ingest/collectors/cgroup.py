"""What groups of processes use and wait for: slices of systemd, containers, jobs; cgroup v1 and v2.

Groups right below the root, up to sixteen, those with the most CPU time first. Throttling by a CPU limit is counted by
the limited group alone, so it is summed over all groups below. Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

from hostsight.channel import Subsystem
from hostsight.errors import NoDataError
from ingest.collector import Host, Metric, Origin, Slot, Values
from ingest.collectors.smallfiles import (
    Parser,
    SmallFile,
    SmallFilesCollector,
    is_folder,
    is_there,
    keyed,
    names_in,
    one_number,
    plain,
    read_small,
    read_word,
)
from ingest.collectors.tables import LIVE
from ingest.collectors.words import number
from ingest.kept_file import read_whole

_ROOT = "/sys/fs/cgroup"
MOST_GROUPS = 16
MOST_LIMITED = 1024
"""So many groups are looked into for CPU limits, below each group."""
LOOK_AGAIN = 30
"""Readings after which groups with a CPU limit are looked for again."""

_MICROSECONDS = 1e-4
_TICK_US = 1e6 / os.sysconf("SC_CLK_TCK")
_CONTROLLERS = ("cpu", "cpuacct", "memory", "blkio", "pids")
_STACKED = ("dm-", "md", "loop", "ram", "zram")


def _time(name: str, meaning: str) -> Metric:
    return Metric(f"cgroup_{name}_percent", "%", "rate", meaning, scale=_MICROSECONDS)


def _events(name: str, meaning: str) -> Metric:
    return Metric(f"cgroup_{name}_per_s", "events/s", "rate", meaning)


CPU = _time("cpu", "CPU time of the group, as a share of one CPU")
USER = _time("user", "CPU time of the group in user space, as a share of one CPU")
SYSTEM = _time("system", "CPU time of the group in the kernel, as a share of one CPU")
PERIODS = _events("limited_periods", "scheduler periods in which a CPU limit held and the group ran")
THROTTLED = _events("throttled_periods", "scheduler periods in which a CPU limit stopped the group")
THROTTLED_TIME = _time("throttled", "time in which a CPU limit stopped the group, added up over CPUs")
TASKS = Metric("cgroup_tasks", "1", "gauge", "processes and threads of the group")
MEMORY = Metric("cgroup_memory_bytes", "B", "gauge", "memory of the group, its page cache included")
SWAP = Metric("cgroup_swap_bytes", "B", "gauge", "swap that the group uses")
HIGH = _events("memory_high_events", "times the group was slowed down, being over its soft limit")
FULL = _events("memory_max_events", "times the group met its memory limit")
OOM = _events("out_of_memory_events", "times the group could not get memory within its limit")
KILLS = _events("out_of_memory_kills", "processes of the group killed for lack of memory")
READ = Metric("cgroup_read_bytes_per_s", "B/s", "rate", "bytes that the group read from disks")
WRITTEN = Metric("cgroup_write_bytes_per_s", "B/s", "rate", "bytes that the group wrote to disks")
_PRESSURE: dict[str, tuple[tuple[Subsystem, Metric], ...]] = {
    "cpu.pressure": (("cpu", _time("cpu_pressure_some", "time in which a task of the group waited for a CPU")),),
    "memory.pressure": (
        ("memory", _time("memory_pressure_some", "time in which a task of the group waited for memory")),
        ("memory", _time("memory_pressure_full", "time in which all tasks of the group waited for memory")),
    ),
    "io.pressure": (
        ("storage", _time("storage_pressure_some", "time in which a task of the group waited for storage")),
        ("storage", _time("storage_pressure_full", "time in which all tasks of the group waited for storage")),
    ),
}  # fmt: skip

Row = tuple[Subsystem, tuple[Metric, ...], Parser]


class CgroupCollector(SmallFilesCollector):
    name: ClassVar[str] = "cgroup"
    origin: ClassVar[Origin] = Origin("/sys/fs/cgroup, version 1 or 2", 0.001)
    metrics: ClassVar[tuple[Metric, ...]] = (
        CPU, USER, SYSTEM, PERIODS, THROTTLED, THROTTLED_TIME, TASKS, MEMORY, SWAP, HIGH, FULL, OOM, KILLS, READ, WRITTEN,
        *(metric for rows in _PRESSURE.values() for _, metric in rows),
    )  # fmt: skip
    nothing: ClassVar[str] = f"{_ROOT} shows no group below the root"

    def open(self, host: Host) -> Sequence[Slot]:
        try:
            return super().open(host)
        except NoDataError as error:
            places = _elsewhere(host)
            if places:
                what = f"groups are mounted at {', '.join(places)} and not below {_ROOT}"
                raise NoDataError(what, "not supported") from error
            raise

    def files(self, host: Host) -> Iterator[SmallFile]:
        hierarchy = _hierarchy(host)
        groups = sorted(hierarchy.groups(), key=hierarchy.cpu_time, reverse=True)
        for group in groups[:MOST_GROUPS]:
            yield from hierarchy.files(host, group)

    def folders(self, host: Host) -> Sequence[Path]:
        return _roots(host)


@dataclass(frozen=True, slots=True)
class _Hierarchy:
    """Roots of the mounted trees of groups, and the files that are read below one of them: path -> what it fills."""

    roots: tuple[Path, ...]
    usage: str
    quota: str
    tables: Mapping[str, Mapping[str, Row]]

    def groups(self) -> list[str]:
        found = {name for root in self.roots for name in names_in(root) if is_folder(root / name)}
        return sorted(found)

    def cpu_time(self, group: str) -> float:
        """Microseconds, or 0 where the group does not say."""
        for root in self.roots:
            words = read_word(root / group / self.usage).split()
            value = number(words[-1].encode()) if len(words) == 1 else _usage_of(words)
            if value > 0:
                return value
        return 0.0

    def files(self, host: Host, group: str) -> Iterator[SmallFile]:
        for root in self.roots:
            folder = root / group
            for file, (subsystem, metrics, parse) in self.tables.get(root.name, {}).items():
                path = folder / file
                yield SmallFile(path, _slots(host, path, subsystem, group, metrics), parse)
            if is_there(folder / "cpu.stat"):
                throttled = Throttled(folder, self.quota)
                slots = _slots(host, folder / "cpu.stat", "cpu", group, (PERIODS, THROTTLED, THROTTLED_TIME))
                yield SmallFile(folder / "cpu.stat", slots, throttled)


def _usage_of(words: Sequence[str]) -> float:
    return number(words[1].encode()) if len(words) > 1 and words[0] == "usage_usec" else 0.0


def _slots(
    host: Host, path: Path, subsystem: Subsystem, group: str, metrics: Sequence[Metric]
) -> tuple[Slot, ...]:
    source = f"/{path.relative_to(host.root)}"
    return tuple(Slot(subsystem, plain(group, 96), metric, LIVE, source) for metric in metrics)


def _hierarchy(host: Host) -> _Hierarchy:
    root = host.path(_ROOT)
    if is_there(root / "cgroup.controllers"):
        return _Hierarchy((root,), "cpu.stat", "cpu.max", {root.name: _second(host)})
    roots = {kind: _controller(root, kind) for kind in _CONTROLLERS}
    tables: dict[str, dict[str, Row]] = {}
    for kind, rows in _first(host).items():
        tables.setdefault(roots[kind].name, {}).update(rows)
    return _Hierarchy(_roots(host), "cpuacct.usage", "cpu.cfs_quota_us", tables)


def _roots(host: Host) -> tuple[Path, ...]:
    root = host.path(_ROOT)
    if is_there(root / "cgroup.controllers"):
        return (root,)
    return tuple(dict.fromkeys(_controller(root, kind) for kind in _CONTROLLERS))


def _controller(root: Path, kind: str) -> Path:
    """Controllers may be mounted together, `cpu,cpuacct`, with a link for each, which captures may lack."""
    for name in names_in(root):
        if "," in name and kind in name.split(","):
            return root / name
    return root / kind


def _second(host: Host) -> dict[str, Row]:
    """Files of version 2."""
    stacked = _stacked(host)
    return {
        "cpu.stat": ("cpu", (CPU, USER, SYSTEM), keyed((b"usage_usec", b"user_usec", b"system_usec"))),
        "pids.current": ("cpu", (TASKS,), one_number),
        "memory.current": ("memory", (MEMORY,), one_number),
        "memory.swap.current": ("memory", (SWAP,), one_number),
        "memory.events": ("memory", (HIGH, FULL, OOM, KILLS), keyed((b"high", b"max", b"oom", b"oom_kill"))),
        "io.stat": ("storage", (READ, WRITTEN), lambda content: transferred(content, stacked)),
        **{
            file: (
                rows[0][0],
                tuple(metric for _, metric in rows),
                pressure if len(rows) > 1 else some_pressure,
            )
            for file, rows in _PRESSURE.items()
        },
    }


def _first(host: Host) -> dict[str, dict[str, Row]]:
    """Files of version 1, by controller."""
    stacked = _stacked(host)
    return {
        "cpuacct": {
            "cpuacct.usage": ("cpu", (CPU,), lambda content: (one_number(content)[0] / 1e3,)),
            "cpuacct.stat": ("cpu", (USER, SYSTEM), _ticks),
        },
        "cpu": {},
        "pids": {"pids.current": ("cpu", (TASKS,), one_number)},
        "memory": {
            "memory.usage_in_bytes": ("memory", (MEMORY,), one_number),
            "memory.failcnt": ("memory", (FULL,), one_number),
            "memory.oom_control": ("memory", (KILLS,), keyed((b"oom_kill",))),
        },
        "blkio": {
            "blkio.throttle.io_service_bytes_recursive": ("storage", (READ, WRITTEN), lambda content: serviced(content, stacked)),
            "blkio.throttle.io_service_bytes": ("storage", (READ, WRITTEN), lambda content: serviced(content, stacked)),
        },
    }  # fmt: skip


def _ticks(content: bytes) -> list[float]:
    return [value * _TICK_US for value in keyed((b"user", b"system"))(content)]


def pressure(content: bytes) -> tuple[float, float]:
    """Microseconds of `some` and `full`: `some avg10=0.00 avg60=0.00 avg300=0.00 total=23`."""
    totals = {}
    for line in content.splitlines():
        totals[line.partition(b" ")[0]] = number(line.rpartition(b"total=")[2])
    return totals.get(b"some", np.nan), totals.get(b"full", np.nan)


def some_pressure(content: bytes) -> tuple[float]:
    return pressure(content)[:1]


def transferred(content: bytes, stacked: frozenset[bytes]) -> Values:
    """Bytes read and written by `8:0 rbytes=1 wbytes=2 ...`, without disks that are made of others."""
    amounts = np.zeros(2)
    for line in content.splitlines():
        words = line.split()
        if words and words[0] not in stacked:
            pairs = dict(word.split(b"=", 1) for word in words if b"=" in word)
            amounts += [number(pairs.get(key, b"0")) for key in (b"rbytes", b"wbytes")]
    return amounts


def serviced(content: bytes, stacked: frozenset[bytes]) -> Values:
    """The same by `8:0 Read 188416`."""
    amounts = np.zeros(2)
    for line in content.splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in {b"Read", b"Write"} and words[0] not in stacked:
            amounts[int(words[1] == b"Write")] += number(words[2])
    return amounts


def _stacked(host: Host) -> frozenset[bytes]:
    """Numbers of the disks that are made of others: what they move is counted by those as well."""
    words = [line.split(None, 3) for line in read_whole(host.path("/proc/diskstats")).splitlines()]
    return frozenset(
        b"%b:%b" % (row[0], row[1])
        for row in words
        if len(row) > 2 and row[2].decode("ascii", "replace").startswith(_STACKED)
    )


def _elsewhere(host: Host) -> list[str]:
    """Where groups are mounted if not below the usual folder: old distributions had /cgroup or /dev/cgroup."""
    words = [line.split() for line in read_whole(host.path("/proc/mounts")).splitlines()]
    mounts = [
        row[1].decode("utf-8", "replace")
        for row in words
        if len(row) > 2 and row[2] in {b"cgroup", b"cgroup2"}
    ]
    return [mount for mount in mounts if not f"{mount}/".startswith(f"{_ROOT}/")]


@dataclass(slots=True)
class Throttled:
    """Periods, throttled periods and microseconds throttled of all groups below one that have a CPU limit.

    Counts only grow: a group that is gone leaves what it added, and one that is new begins with what it does from now on.
    """

    folder: Path
    quota: str
    _limited: list[str] = field(default_factory=list)
    _last: dict[str, Values] = field(default_factory=dict)
    _total: Values = field(default_factory=lambda: np.zeros(3))
    _calls: int = 0

    def __call__(self, content: bytes) -> Values:
        if self._calls % LOOK_AGAIN == 0:
            self._limited = [*_limited(self.folder, self.quota)]
        first = self._calls == 0
        self._calls += 1
        now = {path: counts for path in self._limited if (counts := _counts(path)) is not None}
        for path, counts in now.items():
            start = np.zeros(3) if first else self._last.get(path, counts)
            self._total += np.maximum(counts - start, 0)
        self._last = now
        return self._total.copy()


def _limited(folder: Path, quota: str) -> Iterator[str]:
    """The `cpu.stat` of each group with a CPU limit, `folder` itself included."""
    for seen, (path, names, files) in enumerate(os.walk(folder)):
        if seen == MOST_LIMITED:
            return
        names.sort()
        if quota in files and "cpu.stat" in files and _is_limit(read_word(f"{path}/{quota}")):
            yield f"{path}/cpu.stat"


def _is_limit(text: str) -> bool:
    """`100000 100000` or `50000` is one; `max 100000` and `-1` are not."""
    return text.partition(" ")[0].isdecimal()


_PARSE = keyed((b"nr_periods", b"nr_throttled", b"throttled_usec", b"throttled_time"))


def _counts(path: str) -> Values | None:
    try:
        periods, throttled, microseconds, nanoseconds = _PARSE(read_small(path))
    except OSError:
        return None
    time = nanoseconds / 1e3 if np.isnan(microseconds) else microseconds
    counts = np.array([periods, throttled, time])
    return None if np.isnan(counts).any() else counts
