"""How fast the CPUs run: see `clocks` for the ways to learn it.

Reading a clock may interrupt each CPU and sleep in the kernel, so this is done in the background, and rarely where only
`scaling_cur_freq` is left. https://docs.kernel.org/admin-guide/pm/cpufreq.html
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from hostsight.channel import WHOLE_HOST
from hostsight.errors import NoDataError
from ingest.collector import Host, Metric, Origin, Slot, Tier, Values
from ingest.collectors.clocks import (
    AVERAGE,
    CPUINFO,
    CURRENT,
    MSRS,
    ClockSource,
    CpuinfoClocks,
    MsrClocks,
    PolicyClocks,
    Pread,
    counts_aperf,
    policies,
)
from ingest.collectors.smallfiles import is_there
from ingest.collectors.tables import unreadable, why

_PERIOD = 0.01
_ENABLE_MSR = "modprobe msr, and run the agent as root"

FREQUENCY = Metric(
    "frequency_hertz", "Hz", "gauge", "clock of the CPU; its mean while it ran, where the CPU counts that"
)
_WHOLE = (
    Metric("frequency_mean_hertz", "Hz", "gauge", "mean clock over all CPUs"),
    Metric("frequency_min_hertz", "Hz", "gauge", "clock of the slowest CPU"),
    Metric("frequency_max_hertz", "Hz", "gauge", "clock of the fastest CPU"),
)


class FrequencyCollector:
    """Mean, slowest and fastest clock of the host; each CPU's own up to `per_cpu_limit` CPUs."""

    name: ClassVar[str] = "frequency"
    origin: ClassVar[Origin] = Origin(
        "/dev/cpu/*/msr (APERF, MPERF), else cpuinfo_avg_freq or scaling_cur_freq of cpufreq, else /proc/cpuinfo",
        0.01,
        "root and the msr module for the first of these",
    )
    tier: ClassVar[Tier] = Tier.MEDIUM
    background: ClassVar[bool] = True
    metrics: ClassVar[tuple[Metric, ...]] = (*_WHOLE, FREQUENCY)

    def __init__(self, pread: Pread = os.pread) -> None:
        self._pread = pread
        self._clocks: ClockSource | None = None
        self._cpus: tuple[str, ...] = ()
        self._each = False
        self._absent: list[tuple[str, str, str]] = []

    @property
    def settles_later(self) -> bool:
        """Registers that count give a clock from the second reading on."""
        return isinstance(self._clocks, MsrClocks)

    def tier_on(self, host: Host) -> Tier:
        """Slow where each CPU's clock costs milliseconds."""
        clocks = next(self._ways(host))
        clocks.close()
        return Tier.MEDIUM if clocks.cheap else Tier.SLOW

    def open(self, host: Host) -> Sequence[Slot]:
        self.close()
        self._absent = []
        for clocks in self._ways(host):
            try:
                found = clocks.read()
            except OSError as error:
                raise unreadable(CPUINFO, error) from error
            if isinstance(clocks, MsrClocks) or np.isfinite([*found.values()]).any():
                return self._settle(host, clocks, tuple(found))
            clocks.close()
        raise NoDataError("neither cpufreq nor /proc/cpuinfo shows a clock", "not supported")

    def read(self, out: Values) -> bool:
        if self._clocks is None:
            return False
        clocks = self._clocks.read()
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
        return tuple(self._absent)

    def close(self) -> None:
        if self._clocks is not None:
            self._clocks.close()
            self._clocks = None

    def _settle(self, host: Host, clocks: ClockSource, cpus: tuple[str, ...]) -> list[Slot]:
        self._clocks, self._cpus = clocks, cpus
        self._each = len(cpus) <= host.per_cpu_limit
        if clocks.source.endswith(AVERAGE):
            self._absent = []
        if isinstance(clocks, CpuinfoClocks):
            self._absent.append(("clock of each CPU by cpufreq", "not supported", ""))
        slots = [Slot("cpu", WHOLE_HOST, metric, _PERIOD, clocks.source) for metric in _WHOLE]
        return slots + [Slot("cpu", cpu, FREQUENCY, _PERIOD, clocks.source) for cpu in cpus if self._each]

    def _ways(self, host: Host) -> Iterator[ClockSource]:
        """The ways that this host may have, the best first; the last is always there."""
        try:
            yield MsrClocks(host, self._pread)
        except OSError as error:
            if counts_aperf(host):
                self._absent = [(f"clock while running, from {MSRS}/*/msr", why(error), _ENABLE_MSR)]
        found = policies(host)
        for file in (AVERAGE, CURRENT):
            having = [policy for policy in found if is_there(policy[1] / file)]
            if having:
                yield PolicyClocks(having, file)
        yield CpuinfoClocks(host)
