"""The collectors there are, in the order of their channels. A new one is a file in `ingest/collectors/` and a line here."""

from __future__ import annotations

from collections.abc import Sequence

from hostsight.channel import Subsystem
from hostsight.errors import SettingsError, nearest
from ingest.collector import Collector
from ingest.collectors.agent import AgentCollector, TicksCollector
from ingest.collectors.cpu import CpuCollector, LoadCollector
from ingest.collectors.frequency import FrequencyCollector
from ingest.collectors.hugepages import HugepagesCollector
from ingest.collectors.interrupts import InterruptsCollector
from ingest.collectors.link import LinkCollector
from ingest.collectors.memory import MemoryCollector
from ingest.collectors.network import NetworkCollector
from ingest.collectors.numa import NumaCollector
from ingest.collectors.pressure import PressureCollector
from ingest.collectors.schedstat import SchedstatCollector
from ingest.collectors.sockstat import SockstatCollector
from ingest.collectors.softirqs import SoftirqsCollector
from ingest.collectors.softnet import SoftnetCollector
from ingest.collectors.storage import StorageCollector
from ingest.collectors.tcp import TcpCollector
from ingest.collectors.vmstat import VmstatCollector

_COLLECTORS: tuple[tuple[Subsystem, type[Collector]], ...] = (
    ("cpu", CpuCollector),
    ("cpu", LoadCollector),
    ("cpu", FrequencyCollector),
    ("cpu", PressureCollector),
    ("cpu", SchedstatCollector),
    ("cpu", InterruptsCollector),
    ("cpu", SoftirqsCollector),
    ("memory", MemoryCollector),
    ("memory", VmstatCollector),
    ("memory", NumaCollector),
    ("memory", HugepagesCollector),
    ("network", NetworkCollector),
    ("network", LinkCollector),
    ("network", SoftnetCollector),
    ("network", TcpCollector),
    ("network", SockstatCollector),
    ("storage", StorageCollector),
    ("agent", TicksCollector),
    ("agent", AgentCollector),
)
"""With the subsystem under which `doctor` tells what a collector lacks."""


def collectors() -> tuple[Collector, ...]:
    """Fresh, unopened instances."""
    return tuple(kind() for _, kind in _COLLECTORS)


def enabled(disabled: Sequence[str]) -> tuple[Collector, ...]:
    """All collectors but those named; raises SettingsError where there is none of a name."""
    known = {kind.name: kind for _, kind in _COLLECTORS}
    for name in disabled:
        if name not in known:
            raise SettingsError(
                f"[agent] disabled names '{name}', which is no collector{nearest(name, known)}; there are {', '.join(known)}"
            )
    return tuple(kind() for name, kind in known.items() if name not in disabled)


def subsystem_of(name: str) -> Subsystem:
    """The subsystem of the collector called `name`."""
    return next(subsystem for subsystem, kind in _COLLECTORS if kind.name == name)
