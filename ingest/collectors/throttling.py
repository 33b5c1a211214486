"""CPUs slowed down because they were too hot or drew too much, from /sys/devices/system/cpu/cpu*/thermal_throttle.

Each thread of a core and each CPU of a package counts the same event, so one CPU stands for its core and one for its
package. Intel only; arch/x86/kernel/cpu/mce/therm_throt.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from ingest.collector import Host, Metric, Origin, Slot
from ingest.collectors.smallfiles import SmallFile, SmallFilesCollector, is_folder, names_in, read_word
from ingest.collectors.sysclass import natural
from ingest.collectors.tables import LIVE

_CPUS = "/sys/devices/system/cpu"
_CPU = re.compile(r"cpu\d+")

_CORE: dict[str, Metric] = {
    "core_throttle_count": Metric(
        "core_throttles_per_s", "1/s", "rate", "times that the core was slowed down, being too hot"
    ),
    "core_throttle_total_time_ms": Metric(
        "core_throttled_percent", "%", "rate", "time in which the core was slowed down", scale=0.1
    ),
}
_PACKAGE: dict[str, Metric] = {
    "package_throttle_count": Metric(
        "package_throttles_per_s",
        "1/s",
        "rate",
        "times that the whole package was slowed down, being too hot",
    ),
    "package_throttle_total_time_ms": Metric(
        "package_throttled_percent", "%", "rate", "time in which the package was slowed down", scale=0.1
    ),
}


class ThrottlingCollector(SmallFilesCollector):
    """By package; and by core, named by its first CPU, where the host has at most `per_cpu_limit` CPUs."""

    name: ClassVar[str] = "throttling"
    origin: ClassVar[Origin] = Origin(
        "/sys/devices/system/cpu/cpu*/thermal_throttle", 0.001, "an Intel processor"
    )
    metrics: ClassVar[tuple[Metric, ...]] = (*_PACKAGE.values(), *_CORE.values())
    nothing: ClassVar[str] = (
        f"{_CPUS} shows no thermal_throttle (Intel processors have it, virtual machines have not)"
    )

    def files(self, host: Host) -> Iterator[SmallFile]:
        cpus = _cpus(host)
        yield from _files(_firsts(cpus, ("physical_package_id",), "package"), _PACKAGE)
        if len(cpus) <= host.per_cpu_limit:
            cores = _firsts(cpus, ("physical_package_id", "die_id", "core_id"), "")
            yield from _files({cpu.name: cpu for cpu in cores.values()}, _CORE)

    def folders(self, host: Host) -> Sequence[Path]:
        return [host.path(_CPUS)]


def _cpus(host: Host) -> list[Path]:
    """CPUs that count throttling; one that is offline does not."""
    folder = host.path(_CPUS)
    names = sorted(filter(_CPU.fullmatch, names_in(folder)), key=natural)
    return [folder / name for name in names if is_folder(folder / name / "thermal_throttle")]


def _firsts(cpus: Sequence[Path], keys: Sequence[str], name: str) -> dict[str, Path]:
    """The first CPU of each group that shares the topology `keys`; each CPU by itself where the tree does not say."""
    first: dict[str, Path] = {}
    for cpu in cpus:
        ids = [read_word(cpu / "topology" / key) for key in keys]
        group = f"{name}{'-'.join(ids)}" if ids[0].isdecimal() and ids[-1].isdecimal() else cpu.name
        first.setdefault(group, cpu)
    return first


def _files(devices: dict[str, Path], metrics: dict[str, Metric]) -> Iterator[SmallFile]:
    for device, cpu in devices.items():
        for file, metric in metrics.items():
            source = f"{_CPUS}/{cpu.name}/thermal_throttle/{file}"
            yield SmallFile(cpu / "thermal_throttle" / file, (Slot("cpu", device, metric, LIVE, source),))
