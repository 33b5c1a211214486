"""Ways to learn how fast each CPU runs, the cheapest and truest first.

APERF and MPERF count at the clock the CPU runs at and at a fixed one, only while it runs: their ratio is the mean clock
since the last reading. `cpuinfo_avg_freq` of cpufreq is the same, made by the kernel. `scaling_cur_freq` takes 10 to
20 ms a CPU on some kernels, and is but a moment's value.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ingest.collector import Host
from ingest.collectors.smallfiles import names_in, read_small, read_word
from ingest.collectors.sysclass import natural
from ingest.collectors.topology import parse_list
from ingest.collectors.words import number
from ingest.kept_file import KeptFile

CPUS = "/sys/devices/system/cpu"
MSRS = "/dev/cpu"
CPUINFO = "/proc/cpuinfo"
AVERAGE, CURRENT = "cpuinfo_avg_freq", "scaling_cur_freq"

MPERF, APERF, PLATFORM_INFO = 0xE7, 0xE8, 0xCE
_MSR_BYTES = 8
_MOST_MSRS = 256
"""With more CPUs, descriptors and interrupts of all of them cost more than a clock is worth."""
_HUNDRED_MHZ = 100e6
_CPU_WORDS = frozenset({b"processor", b"cpu number"})
_CLOCK_WORDS = frozenset({b"cpu MHz", b"clock", b"cpu MHz dynamic", b"CPU MHz"})
"""Of x86 and others, of POWER, of IBM Z, and of LoongArch."""
_POLICY = re.compile(r"policy\d+")
_CPU = re.compile(r"cpu(\d+)")

Pread = Callable[[int, int, int], bytes]
Clocks = Mapping[str, float]


class ClockSource(ABC):
    """One way; `source` says where the values come from, `cheap` that it may be asked each second."""

    source: str
    cheap: bool = True

    @abstractmethod
    def read(self) -> Clocks:
        """CPU -> Hz, NaN where it cannot be read; raises OSError where nothing can be."""

    def close(self) -> None:
        """Let go of what is open."""
        return


class MsrClocks(ClockSource):
    """APERF over MPERF by /dev/cpu/*/msr: needs root and the msr module. The first reading gives no clock."""

    source = f"{MSRS}/*/msr APERF, MPERF"

    def __init__(self, host: Host, pread: Pread) -> None:
        """Raises OSError where the registers cannot be read, or the fixed clock is not known."""
        self._pread = pread
        self._files: dict[str, int] = {}
        self._last: dict[str, tuple[int, int]] = {}
        names = sorted(filter(str.isdecimal, names_in(host.path(MSRS))), key=natural)
        if not 0 < len(names) <= _MOST_MSRS:
            raise FileNotFoundError(f"{MSRS} shows {len(names)} CPUs")
        self.cheap = len(names) <= host.per_cpu_limit
        try:
            for name in names:
                path = host.path(MSRS, name, "msr")
                self._files[f"cpu{name}"] = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            first = next(iter(self._files.values()))
            self._counts(first)
            self._base = self._fixed_clock(host, first)
        except OSError:
            self.close()
            raise

    def read(self) -> Clocks:
        return {cpu: self._clock(cpu, fd) for cpu, fd in self._files.items()}

    def close(self) -> None:
        for fd in self._files.values():
            os.close(fd)
        self._files = {}

    def _clock(self, cpu: str, fd: int) -> float:
        try:
            now = self._counts(fd)
        except OSError:
            return np.nan
        before = self._last.get(cpu)
        self._last[cpu] = now
        if before is None:
            return np.nan
        fixed, actual = ((new - old) % 2**64 for new, old in zip(now, before, strict=True))
        return self._base * actual / fixed if fixed else np.nan

    def _counts(self, fd: int) -> tuple[int, int]:
        return self._register(fd, MPERF), self._register(fd, APERF)

    def _register(self, fd: int, register: int) -> int:
        content = self._pread(fd, _MSR_BYTES, register)
        if len(content) != _MSR_BYTES:
            raise OSError("a register is 8 bytes")
        return int.from_bytes(content, "little")

    def _fixed_clock(self, host: Host, fd: int) -> float:
        """What MPERF counts at: the base clock of cpufreq, or of Intel's own register, in Hz."""
        khz = number(read_word(host.path(CPUS, "cpu0/cpufreq/base_frequency")).encode())
        if khz > 0:
            return khz * 1e3
        ratio = self._register(fd, PLATFORM_INFO) >> 8 & 0xFF
        if not ratio:
            raise OSError("the base clock is not known")
        return ratio * _HUNDRED_MHZ


class PolicyClocks(ClockSource):
    """A file of each cpufreq policy, in kHz, for all CPUs of the policy."""

    def __init__(self, policies: Sequence[tuple[tuple[str, ...], Path]], file: str) -> None:
        self._files = [(cpus, str(folder / file)) for cpus, folder in policies]
        parts = "cpufreq/policy*" if _POLICY.fullmatch(policies[0][1].name) else "cpu*/cpufreq"
        self.source = f"{CPUS}/{parts}/{file}"
        self.cheap = file == AVERAGE

    def read(self) -> Clocks:
        return {cpu: clock for cpus, path in self._files for clock in [_khz(path)] for cpu in cpus}


class CpuinfoClocks(ClockSource):
    """`cpu MHz` of /proc/cpuinfo, the only way on most virtual machines."""

    source = f"{CPUINFO} cpu MHz"

    def __init__(self, host: Host) -> None:
        self._file = KeptFile(host.path(CPUINFO))

    def read(self) -> Clocks:
        return from_cpuinfo(self._file.read())

    def close(self) -> None:
        self._file.close()


def policies(host: Host) -> list[tuple[tuple[str, ...], Path]]:
    """The CPUs of each cpufreq policy and its folder, ordered by CPU; old kernels have a folder in each CPU's instead."""
    folders = [
        host.path(CPUS, "cpufreq", name)
        for name in names_in(host.path(CPUS, "cpufreq"))
        if _POLICY.fullmatch(name)
    ]
    if not folders:
        folders = [
            host.path(CPUS, name, "cpufreq") for name in names_in(host.path(CPUS)) if _CPU.fullmatch(name)
        ]
    found: dict[tuple[str, ...], Path] = {}
    for folder in folders:
        text = read_word(folder / "affected_cpus")
        cpus = sorted({*parse_list(",".join(text.split()))})
        if cpus:
            found.setdefault(tuple(f"cpu{cpu}" for cpu in cpus), folder)
    return sorted(found.items(), key=lambda policy: natural(policy[0][0]))


def counts_aperf(host: Host) -> bool:
    """Whether the processor has the registers; most virtual ones have not."""
    try:
        return b" aperfmperf" in read_small(host.path(CPUINFO))
    except OSError:
        return False


def from_cpuinfo(content: bytes) -> Clocks:
    clocks: dict[str, float] = {}
    cpu = ""
    for line in content.splitlines():
        name, _, value = line.partition(b":")
        word = name.strip()
        if word in _CPU_WORDS:
            cpu = f"cpu{value.strip().decode('ascii', 'replace')}"
        elif word in _CLOCK_WORDS and cpu:
            clocks[cpu] = _hertz(value.strip().removesuffix(b"MHz"), 1e6)
    return clocks


def _khz(path: str) -> float:
    try:
        return _hertz(read_small(path), 1e3)
    except OSError:
        return np.nan


def _hertz(text: bytes, unit: float) -> float:
    """A driver that does not know the clock says 0 or -1: NaN."""
    value = number(text.strip())
    return value * unit if value > 0 else np.nan
