"""Whatever a kernel file holds, a collector gives finite numbers, or none; it never falls over."""

from __future__ import annotations

import ctypes
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostsight.errors import NoDataError
from ingest.collector import Collector, Host
from ingest.collectors.cgroup import CgroupCollector
from ingest.collectors.edac import EdacCollector
from ingest.collectors.ethtool import EthtoolCollector
from ingest.collectors.frequency import FrequencyCollector
from ingest.collectors.hugepages import HugepagesCollector
from ingest.collectors.interrupts import InterruptsCollector
from ingest.collectors.link import LinkCollector
from ingest.collectors.memory import MemoryCollector
from ingest.collectors.network import NetworkCollector
from ingest.collectors.numa import NumaCollector
from ingest.collectors.nvme import ADMIN_COMMAND, COMMAND, NvmeCollector, NvmeHealthCollector
from ingest.collectors.pcie import PcieCollector
from ingest.collectors.power import PowerCollector
from ingest.collectors.pressure import PressureCollector
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
from tests.unit.collectors.trees import write

NODE = "sys/devices/system/node/node0"
CPU = "sys/devices/system/cpu"
CARD = "sys/devices/pci0000:00/0000:00:01.0"
PORT = "sys/class/infiniband/mlx5_0/ports/1"
GROUP = "sys/fs/cgroup/system.slice"
GOOD: dict[type[Collector], dict[str, bytes]] = {
    PressureCollector: {"proc/pressure/cpu": b"some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n"},
    SchedstatCollector: {"proc/schedstat": b"version 15\ncpu0 1 0 2 3 4 5 6 7 8\n"},
    MemoryCollector: {"proc/meminfo": b"MemTotal: 16 kB\nMemFree: 8 kB\n"},
    VmstatCollector: {"proc/vmstat": b"pgfault 5\npgmajfault 1\n"},
    NumaCollector: {f"{NODE}/numastat": b"numa_hit 5\nnuma_miss 6\n"},
    HugepagesCollector: {"sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": b"7\n"},
    InterruptsCollector: {
        "proc/interrupts": b"  CPU0 CPU1\n 1: 5 6 IO-APIC 2-edge eth0\nLOC: 7 8 x\nERR: 1\n"
    },
    SoftirqsCollector: {"proc/softirqs": b"  CPU0 CPU1\n NET_RX: 5 6\n"},
    NetworkCollector: {"proc/net/dev": b"I |x|y\n f |bytes packets|bytes\n eth0: 1 2 3\n"},
    LinkCollector: {"sys/class/net/eth0/speed": b"1000\n"},
    SoftnetCollector: {"proc/net/softnet_stat": b"0000000a 00000000 00000000\n"},
    TcpCollector: {"proc/net/snmp": b"Tcp: InSegs OutSegs\nTcp: 5 6\n"},
    SockstatCollector: {"proc/net/sockstat": b"TCP: inuse 1 mem 2\n"},
    FrequencyCollector: {
        f"{CPU}/cpufreq/policy0/affected_cpus": b"0\n",
        f"{CPU}/cpufreq/policy0/cpuinfo_avg_freq": b"800000\n",
    },
    ThrottlingCollector: {f"{CPU}/cpu0/thermal_throttle/core_throttle_count": b"5\n"},
    EdacCollector: {"sys/devices/system/edac/mc/mc0/ce_count": b"5\n"},
    PcieCollector: {
        f"{CARD}/current_link_width": b"8\n",
        f"{CARD}/max_link_width": b"16\n",
        f"{CARD}/current_link_speed": b"8.0 GT/s PCIe\n",
        f"{CARD}/max_link_speed": b"16.0 GT/s PCIe\n",
        f"{CARD}/aer_dev_fatal": b"DLP 1\nTOTAL_ERR_FATAL 1\n",
    },
    PowerCollector: {
        "sys/class/powercap/intel-rapl:0/name": b"package-0\n",
        "sys/class/powercap/intel-rapl:0/energy_uj": b"5\n",
        "sys/class/powercap/intel-rapl:0/max_energy_range_uj": b"9\n",
    },
    SensorsCollector: {
        "sys/class/hwmon/hwmon0/name": b"k10temp\n",
        "sys/class/hwmon/hwmon0/temp1_input": b"30000\n",
        "sys/class/hwmon/hwmon0/temp1_label": b"Tctl\n",
    },
    NvmeCollector: {"sys/class/nvme/nvme0/state": b"live\n", "sys/class/nvme/nvme0/nvme0n1/size": b"8\n"},
    RdmaCollector: {f"{PORT}/counters/port_rcv_data": b"5\n", f"{PORT}/rate": b"40 Gb/sec (4X QDR)\n"},
    RdmaErrorsCollector: {f"{PORT}/hw_counters/out_of_buffer": b"5\n"},
    CgroupCollector: {
        "sys/fs/cgroup/cgroup.controllers": b"cpu\n",
        f"{GROUP}/cpu.max": b"max 100000\n",
        f"{GROUP}/cpu.stat": b"usage_usec 5\nuser_usec 3\nsystem_usec 2\n",
        f"{GROUP}/memory.pressure": b"some avg10=0.00 total=5\nfull avg10=0.00 total=4\n",
        f"{GROUP}/io.stat": b"8:0 rbytes=5 wbytes=6\n",
    },
    StorageCollector: {"proc/diskstats": b" 8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n"},
}
BITS = [b"CPU0", b"CPU1", b"cpu0", b"Tcp:", b"eth0:", b"sda", b"1:", b"some", b"total=", b":", b"|", b"%"]
BITS += [
    b"-1",
    b"7",
    b"1e999",
    b"nan",
    b"inf",
    b"0x1f",
    b"9" * 500,
    b"\xff\xfe",
    b"\0",
    b"[red]",
    b"=" * 9000,
]

hostile = st.one_of(
    st.binary(max_size=200),
    st.lists(
        st.sampled_from([*BITS, b"\n", b"\n"]) | st.integers(-5, 2**66).map(lambda n: str(n).encode()),
        max_size=60,
    ).map(b" ".join),
)


def attempt(collector: Collector, host: Host) -> None:
    """Open and read twice, as the sampler does: no data and a new layout are fine answers."""
    try:
        out = np.full(len(collector.open(host)), np.nan)
    except NoDataError:
        return
    for _ in range(2):
        collector.read(out)
        assert not np.isinf(out).any()


@pytest.mark.parametrize("kind", GOOD, ids=lambda kind: kind.name)
@settings(max_examples=30, deadline=None)
@given(content=hostile)
def test_garbage_from_the_start(kind: type[Collector], content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = write(Path(folder), dict.fromkeys(GOOD[kind], content))
        link(root)
        collector = kind()
        attempt(collector, Host(root))
        collector.close()


@pytest.mark.parametrize("kind", GOOD, ids=lambda kind: kind.name)
@settings(max_examples=30, deadline=None)
@given(content=hostile, cut=st.integers(0, 60))
def test_garbage_after_a_good_start(kind: type[Collector], content: bytes, cut: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = write(Path(folder), GOOD[kind])
        link(root)
        collector = kind()
        out = np.full(len(collector.open(Host(root))), np.nan)
        assert collector.read(out)
        assert np.isfinite(out).all()
        for garbage in (good[:cut] + content for good in GOOD[kind].values()):
            write(root, dict.fromkeys(GOOD[kind], garbage))
            collector.read(out)
            assert not np.isinf(out).any()
        collector.close()


def link(root: Path) -> None:
    """A network interface counts as hardware by this link."""
    device = root / "sys/class/net/eth0/device"
    device.parent.mkdir(parents=True, exist_ok=True)
    device.symlink_to("nowhere")


@pytest.mark.parametrize("kind", GOOD, ids=lambda kind: kind.name)
def test_an_empty_tree_has_no_data(kind: type[Collector], tmp_path: Path) -> None:
    with pytest.raises(NoDataError):
        kind().open(Host(tmp_path))


@pytest.mark.parametrize("kind", GOOD, ids=lambda kind: kind.name)
def test_this_machine(kind: type[Collector]) -> None:
    """Each family that this kernel has gives a finite value or two of its own kind, and its metrics are declared."""
    collector = kind()
    try:
        slots = collector.open(Host(Path("/")))
    except NoDataError as error:
        pytest.skip(str(error))
    out = np.full(len(slots), np.nan)
    assert collector.read(out)
    collector.close()
    assert np.isfinite(out).any()
    assert (out[np.isfinite(out)] >= 0).all()
    assert {slot.metric for slot in slots} <= set(kind.metrics)


class Noise:
    """Stands in for a kernel or a device that answers an ioctl with anything."""

    def __init__(self, answer: bytes, status: int) -> None:
        self.answer, self.status = answer, status

    def __call__(self, fd: int, request: int, command: bytearray) -> int:
        where = (
            COMMAND.unpack(command)[7]
            if request == ADMIN_COMMAND
            else int.from_bytes(command[16:24], sys.byteorder)
        )
        ctypes.memmove(where, self.answer, len(self.answer))
        return self.status


@settings(max_examples=60, deadline=None)
@given(answer=st.binary(min_size=100, max_size=190), status=st.sampled_from([0, 0, 0, 2]))
def test_any_answer_of_a_driver_or_a_disk(answer: bytes, status: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = write(Path(folder), {"sys/class/nvme/nvme0/state": b"live\n", "dev/nvme0": b""})
        link(root)
        for collector in (
            EthtoolCollector(Noise(answer, status)),
            NvmeHealthCollector(Noise(answer, status)),
        ):
            attempt(collector, Host(root))
            collector.close()
