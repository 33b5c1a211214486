"""How fast the CPUs run: from cpufreq, or from /proc/cpuinfo where there is no cpufreq (most virtual machines).

Reading a frequency may interrupt each CPU and sleep in the kernel, so this is done in the background.
https://docs.kernel.org/admin-guide/pm/cpufreq.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from hostsight.channel import WHOLE_HOST
from hostsight.errors import NoDataError
from ingest.collector import Host, Metric, Slot, Tier, Values
from ingest.collectors.tables import why
from ingest.collectors.topology import parse_list
from ingest.collectors.words import number
from ingest.kept_file import KeptFile

_POLICIES = "/sys/devices/system/cpu/cpufreq"
_CPUINFO = "/proc/cpuinfo"
_PERIOD = 0.01

FREQUENCY = Metric("frequency_hertz", "Hz", "gauge", "clock of the CPU, as the kernel last saw it")
_WHOLE = (
    Metric("frequency_mean_hertz", "Hz", "gauge", "mean clock over all CPUs"),
    Metric("frequency_min_hertz", "Hz", "gauge", "clock of the slowest CPU"),
    Metric("frequency_max_hertz", "Hz", "gauge", "clock of the fastest CPU"),
)


class FrequencyCollector:
    """Mean, slowest and fastest clock of the host; each CPU's own up to `per_cpu_limit` CPUs."""

    name: ClassVar[str] = "frequency"
    tier: ClassVar[Tier] = Tier.MEDIUM
    background: ClassVar[bool] = True
    metrics: ClassVar[tuple[Metric, ...]] = (*_WHOLE, FREQUENCY)

    def __init__(self) -> None:
        self._files: list[tuple[tuple[str, ...], KeptFile]] = []
        self._cpuinfo: KeptFile | None = None
        self._cpus: tuple[str, ...] = ()
        self._each = False

    def open(self, host: Host) -> Sequence[Slot]:
        self.close()
        self._files = _policies(host)
        self._cpuinfo = None if self._files else KeptFile(host.path(_CPUINFO))
        try:
            clocks = self._clocks()
        except OSError as error:
            raise NoDataError(f"{_CPUINFO} cannot be read", why(error)) from error
        if not np.isfinite([*clocks.values()]).any():
            raise NoDataError("neither cpufreq nor /proc/cpuinfo shows a clock", "not supported")
        self._cpus = tuple(clocks)
        self._each = len(clocks) <= host.per_cpu_limit
        source = f"{_POLICIES}/policy*/scaling_cur_freq" if self._files else f"{_CPUINFO} cpu MHz"
        slots = [Slot("cpu", WHOLE_HOST, metric, _PERIOD, source) for metric in _WHOLE]
        return slots + [Slot("cpu", cpu, FREQUENCY, _PERIOD, source) for cpu in self._cpus if self._each]

    def read(self, out: Values) -> bool:
        clocks = self._clocks()
        if tuple(clocks) != self._cpus:
            return False
        each = np.array([*clocks.values()])
        known = each[np.isfinite(each)]
        if len(known):
            out[:3] = known.mean(), known.min(), known.max()
        if self._each:
            out[3:] = each
        return True

    def absent(self) -> Sequence[tuple[str, str, str]]:
        if self._cpuinfo is None:
            return ()
        return [("clock of each CPU by cpufreq", "not supported", "")]

    def close(self) -> None:
        for _, file in self._files:
            file.close()
        if self._cpuinfo is not None:
            self._cpuinfo.close()

    def _clocks(self) -> dict[str, float]:
        """CPU -> Hz, NaN where it cannot be read; raises OSError where there is no file at all."""
        if self._cpuinfo is not None:
            return _from_cpuinfo(self._cpuinfo.read())
        return {cpu: clock for cpus, file in self._files for clock in [_khz(file)] for cpu in cpus}


def _policies(host: Host) -> list[tuple[tuple[str, ...], KeptFile]]:
    """The CPUs of each cpufreq policy and the file that holds their clock, ordered by CPU."""
    found = []
    for policy in host.path(_POLICIES).glob("policy*"):
        try:
            text = (policy / "affected_cpus").read_text("ascii", "replace")
        except OSError:
            continue
        cpus = sorted({cpu for word in text.split() for cpu in parse_list(word)})
        if cpus:
            found.append((cpus, KeptFile(policy / "scaling_cur_freq")))
    found.sort(key=lambda policy: policy[0])
    return [(tuple(f"cpu{cpu}" for cpu in cpus), file) for cpus, file in found]


def _khz(file: KeptFile) -> float:
    try:
        return number(file.read().strip()) * 1e3
    except OSError:
        return np.nan


def _from_cpuinfo(content: bytes) -> dict[str, float]:
    clocks: dict[str, float] = {}
    cpu = ""
    for line in content.splitlines():
        name, _, value = line.partition(b":")
        word = name.strip()
        if word == b"processor":
            cpu = f"cpu{value.strip().decode('ascii', 'replace')}"
        elif word == b"cpu MHz" and cpu:
            clocks[cpu] = number(value.strip()) * 1e6
    return clocks
