"""A kernel with performance counters, and a tree that shows it."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ingest.perf.event import Event
from tests.unit.collectors.trees import write

BOOT_ID = "proc/sys/kernel/random/boot_id"
CPU_PMU = "sys/bus/event_source/devices/cpu"
X86_FORMAT = {"event": "config:0-7", "umask": "config:8-15", "inv": "config:23", "cmask": "config:24-31"}


@dataclass
class _Opened:
    event: Event
    cpu: int
    leader: int
    enabled: int = 0
    running: int = 0
    count: float = 0.0


@dataclass
class FakePerf:
    """Counts `rates` events per second, by event or (event, cpu), of which the kernel has no others.

    A group of more than `counters` events cannot be opened; one of more than `counters - taken` is, and never runs.
    """

    rates: dict[Event | tuple[Event, int], float]
    counters: int = 6
    taken: int = 0
    share: float = 1.0
    """Of the time that a group is enabled, how much it runs."""
    descriptors: int = 1000
    offline: set[int] = field(default_factory=set)
    refuses: int = 0
    """errno of every open."""
    opened: dict[int, _Opened] = field(default_factory=dict)
    reads: int = 0
    _last: int = 2

    def open(self, event: Event, cpu: int, leader: int) -> int:
        self._refuse(event, cpu, leader)
        self._last += 1
        self.opened[self._last] = _Opened(event, cpu, leader if leader >= 0 else self._last)
        return self._last

    def read(self, fd: int, size: int) -> bytes:
        self.reads += 1
        group = self._group(fd)
        counts = [round(one.count) for one in group]
        content = struct.pack(f"={3 + len(group)}Q", len(group), group[0].enabled, group[0].running, *counts)
        assert len(content) == size
        return content

    def close(self, fd: int) -> None:
        del self.opened[fd]

    def room(self) -> int:
        return self.descriptors - len(self.opened)

    def advance(self, seconds: float) -> None:
        """Time passes, and everything open is counted."""
        for one in self.opened.values():
            fits = len(self._group(one.leader)) <= self.counters - self.taken
            ran = seconds * self.share if fits else 0.0
            one.enabled += round(seconds * 1e9)
            one.running += round(ran * 1e9)
            one.count += ran * self.rates.get((one.event, one.cpu), self.rates.get(one.event, 0.0))

    def groups(self, cpu: int) -> list[list[Event]]:
        """What is open on a CPU."""
        leaders = [fd for fd, one in self.opened.items() if one.leader == fd and one.cpu == cpu]
        return [[one.event for one in self._group(fd)] for fd in leaders]

    def cpus(self) -> list[int]:
        return sorted({one.cpu for one in self.opened.values()})

    def _group(self, leader: int) -> list[_Opened]:
        return [one for one in self.opened.values() if one.leader == leader]

    def _refuse(self, event: Event, cpu: int, leader: int) -> None:
        known = event in self.rates or (event, cpu) in self.rates
        reasons = {
            self.refuses: self.refuses,
            errno.EMFILE: len(self.opened) >= self.descriptors,
            errno.ENODEV: cpu in self.offline,
            errno.ENOENT: not known,
            errno.EINVAL: leader >= 0 and len(self._group(leader)) >= self.counters,
        }
        for number, applies in reasons.items():
            if applies:
                raise OSError(number, os.strerror(number))


def tree(root: Path, files: Mapping[str, str | bytes], *, online: str = "0-3", here: bool = True) -> Path:
    """A tree of the running kernel, or of another one."""
    boot_id = Path("/", BOOT_ID).read_bytes() if here else b"another\n"
    return write(root, {BOOT_ID: boot_id, "sys/devices/system/cpu/online": f"{online}\n", **files})


def pmu(
    folder: str,
    number: int,
    formats: Mapping[str, str],
    events: Mapping[str, str] | None = None,
    cpus: str = "",
) -> dict[str, str]:
    """Files of one PMU in /sys/bus/event_source/devices."""
    files = {f"{folder}/type": f"{number}\n"}
    files |= {f"{folder}/format/{name}": f"{places}\n" for name, places in formats.items()}
    files |= {f"{folder}/events/{name}": f"{text}\n" for name, text in (events or {}).items()}
    return files | ({f"{folder}/cpumask": f"{cpus}\n"} if cpus else {})
