"""Captured trees of real servers, unpacked once a session; and what a collector reads from a tree."""

from __future__ import annotations

import bz2
import os
import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ingest.collector import Collector, Host

_NEEDED = re.compile(
    r"(^|/)proc/|/sys/block/|/devices/system/(cpu|node)/[a-z_]+$|/mm/hugepages/|/node/node\d+/(meminfo|numastat|cpulist|hugepages/)"
    r"|/msi_irqs/|/numa_node$|/net/[^/]+$|/net/[^/]+/(carrier|speed|carrier_changes|statistics/rx_(missed|crc)_errors)$|/cpufreq/policy\d+/(affected_cpus|scaling_cur_freq)$"
    r"|/thermal_throttle/|/topology/(core_id|physical_package_id|die_id)$|/edac/mc/|/powercap/|/hwmon\d+/|/thermal_zone"
    r"|/infiniband/|/aer_dev_|_link_(speed|width)$|/class$|/sys/fs/cgroup/"
)
"""Of the 33,000 files of a server's /sys, those that some collector reads."""


def read(collector: Collector, root: Path, *, per_cpu: int = 64, devices: int = 64) -> dict[str, float]:
    """`subsystem device metric` -> value in the metric's unit, the raw counter for a rate."""
    slots = collector.open(Host(root, per_cpu, devices))
    raw = np.full(len(slots), np.nan)
    try:
        assert collector.read(raw)
    finally:
        collector.close()
    return {
        f"{slot.subsystem} {slot.device} {slot.metric.name}": float(value) * slot.metric.scale
        for slot, value in zip(slots, raw, strict=True)
    }


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """A small tree below `root`."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


@dataclass(frozen=True, slots=True)
class Trees:
    """The captures in `source`, unpacked below `folder` when first asked for."""

    source: Path
    folder: Path

    def tar(self, name: str, inside: str = "") -> Path:
        """The tree of `name`.tgz; `inside` is the folder in it that holds proc and sys."""
        target = self.folder / name
        if not target.is_dir():
            with tarfile.open(self.source / f"{name}.tgz") as archive:
                _unpack(archive, target)
        return target / inside

    def ttar(self, name: str, inside: str = "") -> Path:
        """The tree of `name`.ttar, a text format: PROVENANCE.md beside the captures describes it."""
        target = self.folder / name
        if not target.is_dir():
            _unpack_text(self.source / f"{name}.ttar", target)
        return target / inside

    def largest(self) -> Path:
        """A tree with the /proc/interrupts and /proc/softirqs of a host with 1,152 CPUs."""
        target = self.folder / "1152cpu"
        if not target.is_dir():
            for name in ("interrupts", "softirqs"):
                content = bz2.decompress((self.source / f"{name}-1152cpu.bz2").read_bytes())
                write(target, {f"proc/{name}": content})
        return target

    def topology(self, name: str) -> Path:
        """The whole tree of a topology, folders and links as they are."""
        target = self.folder / name
        if not target.is_dir():
            with tarfile.open(self.source.parent / f"topology/{name}.tar.bz2") as archive:
                _unpack(archive, target, re.compile(""))
        (inside,) = target.iterdir()
        return inside

    @property
    def dual_xeon(self) -> Path:
        return self.tar("dual-xeon-e5-2630v4-ib", "qa/linux/meminfo-root-008")

    @property
    def prometheus(self) -> Path:
        return self.ttar("prometheus-procfs", "fixtures")

    @property
    def node_exporter(self) -> Path:
        return self.ttar("node-exporter-sys", "sys").parent

    @property
    def h100(self) -> Path:
        """A tree with the InfiniBand adapters of a server of eight H100."""
        target = self.folder / "h100"
        if not target.is_dir():
            with tarfile.open(self.source.parent / "rdma/h100-8hca-sys-class-infiniband.tgz") as archive:
                for member in filter(tarfile.TarInfo.isfile, archive):
                    inside = Path(*Path(member.name).parts[1:])
                    content = archive.extractfile(member)
                    write(target / "sys/class/infiniband", {str(inside): content.read() if content else b""})
        return target


def _unpack(archive: tarfile.TarFile, target: Path, needed: re.Pattern[str] = _NEEDED) -> None:
    """What is needed of it: files, folders, and links that stay in the tree."""
    for member in archive:
        path = target / member.name
        if not needed.search(member.name):
            continue
        if member.isdir():
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if not member.issym():
            content = archive.extractfile(member)
            path.write_bytes(content.read() if content else b"")
        elif Path(os.path.normpath(path.parent / member.linkname)).is_relative_to(target):
            path.symlink_to(member.linkname)


def _unpack_text(source: Path, target: Path) -> None:
    path = target
    with source.open("rb") as lines:
        for line in lines:
            key, _, value = line.rstrip(b"\n").partition(b": ")
            if key == b"Path":
                path = target / value.decode()
                path.parent.mkdir(parents=True, exist_ok=True)
            elif key == b"Directory":
                (target / value.decode()).mkdir(parents=True, exist_ok=True)
            elif key == b"SymlinkTo":
                path.symlink_to(value.decode())
            elif key == b"Lines":
                content = b"".join(next(lines) for _ in range(int(value)))
                path.write_bytes(content.removesuffix(b"EOF\n").replace(b"NULLBYTE", b"\0"))
