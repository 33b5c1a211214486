"""The collectors there are, in the order of their channels. A new one is a file in `ingest/collectors/` and a line here."""

from __future__ import annotations

from collections.abc import Sequence

from hostsight.channel import Subsystem
from hostsight.errors import SettingsError, nearest
from ingest.collector import Collector
from ingest.collectors.agent import AgentCollector, TicksCollector
from ingest.collectors.cgroup import CgroupCollector
from ingest.collectors.cpu import CpuCollector, LoadCollector
from ingest.collectors.edac import EdacCollector
from ingest.collectors.equipment import EquipmentCollector
from ingest.collectors.ethtool import EthtoolCollector
from ingest.collectors.frequency import FrequencyCollector
from ingest.collectors.hugepages import HugepagesCollector
from ingest.collectors.interrupts import InterruptsCollector
from ingest.collectors.link import LinkCollector
from ingest.collectors.memory import MemoryCollector
from ingest.collectors.network import NetworkCollector
from ingest.collectors.numa import NumaCollector
from ingest.collectors.nvme import NvmeCollector, NvmeHealthCollector
from ingest.collectors.pcie import PcieCollector
from ingest.collectors.perf import PerfCollector
from ingest.collectors.perf_memory import PerfMemoryCollector
from ingest.collectors.perf_software import PerfSoftwareCollector
from ingest.collectors.power import PowerCollector
from ingest.collectors.pressure import PressureCollector
from ingest.collectors.processes import ProcessesCollector
from ingest.collectors.rdma import RdmaCollector, RdmaErrorsCollector
from ingest.collectors.schedstat import SchedstatCollector
from ingest.collectors.sensors import SensorsCollector
from ingest.collectors.sockstat import SockstatCollector
from ingest.collectors.softirqs import SoftirqsCollector
from ingest.collectors.softnet import SoftnetCollector
from ingest.collectors.storage import StorageCollector
from ingest.collectors.tcp import TcpCollector
from ingest.collectors.throttling import ThrottlingCollector
from ingest.collectors.vmstat import VmstatCollector
from ingest.site_collectors import site_collectors

_COLLECTORS: tuple[tuple[Subsystem, type[Collector]], ...] = (
    ("cpu", CpuCollector),
    ("cpu", LoadCollector),
    ("cpu", FrequencyCollector),
    ("cpu", ThrottlingCollector),
    ("cpu", PowerCollector),
    ("cpu", SensorsCollector),
    ("cpu", PressureCollector),
    ("cpu", SchedstatCollector),
    ("cpu", PerfCollector),
    ("cpu", PerfSoftwareCollector),
    ("cpu", InterruptsCollector),
    ("cpu", SoftirqsCollector),
    ("cpu", CgroupCollector),
    ("cpu", ProcessesCollector),
    ("memory", MemoryCollector),
    ("memory", VmstatCollector),
    ("memory", NumaCollector),
    ("memory", HugepagesCollector),
    ("memory", EdacCollector),
    ("memory", PerfMemoryCollector),
    ("interconnect", PcieCollector),
    ("network", NetworkCollector),
    ("network", LinkCollector),
    ("network", EthtoolCollector),
    ("network", RdmaCollector),
    ("network", RdmaErrorsCollector),
    ("network", SoftnetCollector),
    ("network", TcpCollector),
    ("network", SockstatCollector),
    ("storage", StorageCollector),
    ("storage", NvmeCollector),
    ("storage", NvmeHealthCollector),
    ("cpu", EquipmentCollector),
    ("agent", TicksCollector),
    ("agent", AgentCollector),
)
"""With the subsystem under which `doctor` tells what a collector lacks."""


def collectors() -> tuple[Collector, ...]:
    """Fresh, unopened instances."""
    return tuple(kind() for _, kind in _COLLECTORS)


def enabled(disabled: Sequence[str], folder: str = "") -> tuple[Collector, ...]:
    """All collectors but those named, those of the site in `folder` included.

    Raises SettingsError where there is none of a name.
    """
    own = collectors()
    known = {one.name: one for one in (*own, *site_collectors(folder, {one.name for one in own}))}
    for name in disabled:
        if name not in known:
            raise SettingsError(
                f"[agent] disabled names '{name}', which is no collector{nearest(name, known)}; there are {', '.join(known)}"
            )
    return tuple(one for name, one in known.items() if name not in disabled)


def subsystem_of(collector: Collector) -> Subsystem:
    """The subsystem under which `doctor` tells what the collector lacks."""
    own = next((subsystem for subsystem, kind in _COLLECTORS if kind.name == collector.name), None)
    site: Subsystem = getattr(collector, "subsystem", "agent")
    return own or site
