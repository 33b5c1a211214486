"""The system calls behind performance counters, and nothing more: what tests replace.

No library wraps perf_event_open, so it is called by number.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import struct
import sys
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from ingest.collector import Host
from ingest.collectors.smallfiles import read_word
from ingest.perf.event import Event

SYSTEM_CALLS = {
    "x86_64": 298,
    "aarch64": 241,
    "riscv64": 241,
    "loongarch64": 241,
    "ppc64le": 319,
    "ppc64": 319,
    "s390x": 331,
}
"""perf_event_open by `uname -m`: arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h,
arch/powerpc/kernel/syscalls/syscall.tbl, arch/s390/kernel/syscalls/syscall.tbl."""

ATTRIBUTES = struct.Struct("=IIQQQQQIIQQ")
"""perf_event_attr up to config2: type, size, config, period, sample_type, read_format, flags, wakeup, bp_type, config1, config2."""

GROUP_WITH_TIMES = 1 | 2 | 8
"""PERF_FORMAT_TOTAL_TIME_ENABLED, _TOTAL_TIME_RUNNING, _GROUP: a reading is u64 count, enabled, running, values[count]."""

_CLOSE_ON_EXEC = 8
_ALL_TASKS = -1
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


class PerfCalls(Protocol):
    """The boundary. Every method raises OSError as the kernel does."""

    def open(self, event: Event, cpu: int, leader: int) -> int:
        """Count `event` of all tasks on `cpu`, in the group of descriptor `leader` (-1: a group of its own)."""
        ...

    def read(self, fd: int, size: int) -> bytes:
        """A reading of the group that `fd` leads, as GROUP_WITH_TIMES says."""
        ...

    def close(self, fd: int) -> None: ...

    def room(self) -> int:
        """Descriptors that this process may still open."""
        ...


class LinuxPerfCalls:
    """The running kernel."""

    def open(self, event: Event, cpu: int, leader: int) -> int:
        call = _syscall()
        attributes = attributes_of(event)
        fd: int = call(_number(), attributes, _ALL_TASKS, cpu, leader, _CLOSE_ON_EXEC)
        if fd < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return fd

    def read(self, fd: int, size: int) -> bytes:
        return os.read(fd, size)

    def close(self, fd: int) -> None:
        os.close(fd)

    def room(self) -> int:
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if limit == resource.RLIM_INFINITY:
            limit = sys.maxsize
        return max(0, limit - len(os.listdir("/proc/self/fd")))  # noqa: PTH208 - only how many


def attributes_of(event: Event) -> bytes:
    """perf_event_attr: counted from the start, kernel, users and guests alike."""
    return ATTRIBUTES.pack(
        event.type,
        ATTRIBUTES.size,
        event.config,
        0,
        0,
        GROUP_WITH_TIMES,
        0,
        0,
        0,
        event.config1,
        event.config2,
    )


def counts_here(host: Host) -> bool:
    """Whether `host` is what this kernel runs on: true also for a container's view of its host, not for a capture."""
    ours = read_word(_BOOT_ID)
    return host.live or (bool(ours) and read_word(host.path(_BOOT_ID)) == ours)


def kernel_setting(name: str) -> str:
    """A value below /proc/sys/kernel of the running kernel; empty where it has none."""
    return read_word(Path("/proc/sys/kernel", name))


def _number() -> int:
    machine = platform.machine()
    if machine not in SYSTEM_CALLS or sys.maxsize < 2**32:
        raise OSError(errno.ENOSYS, f"perf_event_open has no known number for {machine}")
    return SYSTEM_CALLS[machine]


@lru_cache(maxsize=1)
def _syscall() -> ctypes._NamedFuncPointer:
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    call.argtypes = [
        ctypes.c_long,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_ulong,
    ]
    return call
