"""Temperatures, fans, power, voltages and currents that the board's sensors measure: hwmon and thermal zones.

Reading one may take milliseconds on a slow bus, or wake a sleeping CPU. Documentation/hwmon/sysfs-interface.rst.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from hostsight.channel import Subsystem
from ingest.collector import Host, Metric, Origin, Slot, Tier
from ingest.collectors.smallfiles import (
    Parser,
    SmallFile,
    SmallFilesCollector,
    names_in,
    one_number,
    plain,
    read_word,
)
from ingest.collectors.sysclass import class_devices, class_folder, natural

_PERIOD = 1.0
_MILLI, _MICRO = 1e-3, 1e-6
_INPUT = re.compile(r"(temp|fan|power|in|curr|energy)(\d+)_(?:input|average)")
_CORE = re.compile(r"-Core_\d+$")
_ALARM = re.compile(r"(?:temp|fan|power|in|curr)\d+(?:_\w+)?_alarm")

TEMPERATURE = Metric("temperature_celsius", "°C", "gauge", "temperature", scale=_MILLI)
_KINDS: dict[str, Metric] = {
    "temp": TEMPERATURE,
    "fan": Metric("fan_rpm", "rpm", "gauge", "speed of the fan, revolutions a minute"),
    "power": Metric("sensor_power_watts", "W", "gauge", "power that the sensor measures", scale=_MICRO),
    "energy": Metric(
        "energy_power_watts", "W", "rate", "power, from the energy that the sensor counts", scale=_MICRO
    ),
    "in": Metric("voltage_volts", "V", "gauge", "voltage", scale=_MILLI),
    "curr": Metric("current_amperes", "A", "gauge", "current", scale=_MILLI),
}
ALARM = Metric("sensor_alarm", "1", "state", "1 while the sensor is beyond a limit that the board sets")

_SUBSYSTEMS: tuple[tuple[re.Pattern[str], Subsystem], ...] = (
    (re.compile(r"nvme|drivetemp"), "storage"),
    (re.compile(r"jc42|spd5118|sbtsi_dimm"), "memory"),
    (re.compile(r"amdgpu|nouveau|radeon|xe|i915"), "gpu"),
    (re.compile(r"mlx\d|mlxsw|ixgbe|i350bb|bnxt_en|cxgb4|tg3|be2net|qede|enp|eth"), "network"),
)
"""By the name of the chip's driver; what is none of these is the board's or the processor's."""


class SensorsCollector(SmallFilesCollector):
    """A sensor is a device: the chip's place and the sensor's own label, `coretemp.0-Core_3`."""

    name: ClassVar[str] = "sensors"
    origin: ClassVar[Origin] = Origin("/sys/class/hwmon, /sys/class/thermal", 1.0, "the drivers of the board")
    tier: ClassVar[Tier] = Tier.SLOW
    metrics: ClassVar[tuple[Metric, ...]] = (*_KINDS.values(), ALARM)
    nothing: ClassVar[str] = "neither /sys/class/hwmon nor /sys/class/thermal shows a sensor"
    remedy: ClassVar[str] = (
        "load the board's drivers (sensors-detect of lm-sensors names them); a virtual machine has none"
    )

    def files(self, host: Host) -> list[SmallFile]:
        """Sensors of single cores come last: they are many, and the first that a limit leaves out."""
        return sorted(_sensors(host), key=lambda file: bool(_CORE.search(file.slots[0].device)))

    def folders(self, host: Host) -> Sequence[Path]:
        return [class_folder(host, "hwmon"), class_folder(host, "thermal")]


def _sensors(host: Host) -> Iterator[SmallFile]:
    for chip in class_devices(host, "hwmon"):
        yield from _chip(host, chip)
    for zone in class_devices(host, "thermal"):
        kind = plain(read_word(zone / "type"))
        if zone.name.startswith("thermal_zone"):
            device = f"{zone.name}-{kind}" if kind else zone.name
            yield _file(host, zone / "temp", "cpu", device, TEMPERATURE)


def _chip(host: Host, folder: Path) -> Iterator[SmallFile]:
    """The sensors of a chip. Old drivers keep the files beside hwmon's folder, in the device's own."""
    for place in (folder, folder / "device"):
        name = read_word(place / "name")
        files = sorted(names_in(place), key=natural)
        found = [match for match in map(_INPUT.fullmatch, files) if match]
        if found:
            chip = _chip_name(folder, plain(name))
            labels = _labels(place, [match[1] + match[2] for match in found])
            devices = {sensor: f"{chip}-{label}" for sensor, label in labels.items()}
            subsystem = _subsystem(name)
            for match in _preferred(found):
                sensor, metric = match[1] + match[2], _KINDS[match[1]]
                doubtful = metric is TEMPERATURE and f"{sensor}_fault" in files
                file = _file(host, place / match[0], subsystem, devices[sensor], metric)
                yield replace(file, parse=_unless(place / f"{sensor}_fault")) if doubtful else file
            yield from _alarms(host, place, files, subsystem, devices)
            return


def _preferred(found: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    """A meter that gives its present and its mean value gives the mean: others cannot be caught up with."""
    sensors = {
        match[1] + match[2]: match for match in sorted(found, key=lambda match: match[0], reverse=True)
    }
    return [match for match in found if sensors[match[1] + match[2]] is match]


def _alarms(
    host: Host, place: Path, files: Sequence[str], subsystem: Subsystem, devices: dict[str, str]
) -> Iterator[SmallFile]:
    """One alarm a sensor: the plain one, else the first of its limits'."""
    told: set[str] = set()
    for file in sorted(filter(_ALARM.fullmatch, files), key=len):
        sensor = file.partition("_")[0]
        if sensor in devices and sensor not in told:
            told.add(sensor)
            yield _file(host, place / file, subsystem, devices[sensor], ALARM)


def _labels(place: Path, sensors: Sequence[str]) -> dict[str, str]:
    """What each sensor is called; by its number where it has no label or shares it with another."""
    labels = {sensor: plain(read_word(place / f"{sensor}_label")) for sensor in sensors}
    given = [*labels.values()]
    return {
        sensor: sensor if not label else label if given.count(label) == 1 else f"{label}-{sensor}"
        for sensor, label in labels.items()
    }


def _chip_name(folder: Path, name: str) -> str:
    """Where the chip sits, not hwmon's number, which changes from start to start: `coretemp.0`, `nvme-nvme0`."""
    inside = folder.resolve().parent
    parent = inside.parent.name if inside.name == "hwmon" else inside.name
    if parent in {"class", "hwmon", "virtual"} or not parent:
        parent = folder.name
    if not name or parent.startswith(name):
        return plain(parent)
    return f"{name}-{plain(parent)}"


def _subsystem(name: str) -> Subsystem:
    return next((subsystem for pattern, subsystem in _SUBSYSTEMS if pattern.match(name)), "cpu")


def _unless(fault: Path) -> Parser:
    """A temperature is none while the chip says that its diode is broken or not connected."""
    return lambda content: (math.nan,) if read_word(fault) == "1" else one_number(content)


def _file(host: Host, path: Path, subsystem: Subsystem, device: str, metric: Metric) -> SmallFile:
    return SmallFile(path, (Slot(subsystem, device, metric, _PERIOD, f"/{path.relative_to(host.root)}"),))
