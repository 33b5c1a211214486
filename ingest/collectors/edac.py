"""Memory errors that the memory controllers corrected or could not, from /sys/devices/system/edac/mc.

By controller (`mc0`) and by module (`mc0-dimm3`, or its row `mc0-csrow1` with old drivers). Documentation/admin-guide/ras.rst.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from ingest.collector import Host, Metric, Origin, Slot, Tier
from ingest.collectors.smallfiles import SmallFile, SmallFilesCollector, names_in
from ingest.collectors.sysclass import natural
from ingest.collectors.tables import LIVE

_FOLDER = "/sys/devices/system/edac/mc"
_CONTROLLER = re.compile(r"mc\d+")
_MODULE = re.compile(r"(?:dimm|rank)\d+")
_ROW = re.compile(r"csrow\d+")


def _errors(name: str, meaning: str) -> Metric:
    return Metric(f"{name}_errors_per_s", "errors/s", "rate", meaning)


CORRECTED = _errors("memory_corrected", "errors in memory that were corrected")
UNCORRECTED = _errors("memory_uncorrected", "errors in memory that could not be corrected")
_WHOLE: dict[str, Metric] = {
    "ce_count": CORRECTED,
    "ue_count": UNCORRECTED,
    "ce_noinfo_count": _errors("memory_corrected_unplaced", "corrected errors of a module that is not known"),
    "ue_noinfo_count": _errors(
        "memory_uncorrected_unplaced", "uncorrected errors of a module that is not known"
    ),
}
_OF_MODULE = {"dimm_ce_count": CORRECTED, "dimm_ue_count": UNCORRECTED}
_OF_ROW = {"ce_count": CORRECTED, "ue_count": UNCORRECTED}


class EdacCollector(SmallFilesCollector):
    name: ClassVar[str] = "edac"
    origin: ClassVar[Origin] = Origin("/sys/devices/system/edac/mc", 0.001, "ECC memory and its EDAC driver")
    tier: ClassVar[Tier] = Tier.SLOW
    metrics: ClassVar[tuple[Metric, ...]] = tuple(_WHOLE.values())
    nothing: ClassVar[str] = f"{_FOLDER} shows no memory controller"
    remedy: ClassVar[str] = (
        "load the processor's EDAC driver (modprobe skx_edac, i10nm_edac, amd64_edac ...); none works in a virtual machine"
    )

    def files(self, host: Host) -> Iterator[SmallFile]:
        for controller in _matching(host.path(_FOLDER), _CONTROLLER):
            yield from _files(f"{_FOLDER}/{controller.name}", controller, controller.name, _WHOLE)
            modules, metrics = _matching(controller, _MODULE), _OF_MODULE
            if not modules:
                modules, metrics = _matching(controller, _ROW), _OF_ROW
            for module in modules:
                source = f"{_FOLDER}/{controller.name}/{module.name}"
                yield from _files(source, module, f"{controller.name}-{module.name}", metrics)

    def folders(self, host: Host) -> Sequence[Path]:
        return [host.path(_FOLDER)]


def _matching(folder: Path, pattern: re.Pattern[str]) -> list[Path]:
    return [folder / name for name in sorted(filter(pattern.fullmatch, names_in(folder)), key=natural)]


def _files(source: str, folder: Path, device: str, metrics: dict[str, Metric]) -> Iterator[SmallFile]:
    for file, metric in metrics.items():
        yield SmallFile(folder / file, (Slot("memory", device, metric, LIVE, f"{source}/{file}"),))
