"""Which micro-architecture a host has, named as in the kernel's tools/perf/pmu-events/arch/*/mapfile.csv."""

from __future__ import annotations

from ingest.collector import Host
from ingest.collectors.smallfiles import read_word

_MIDR = "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1"
_VARIANT_AND_REVISION = 0xF0000F


def cpu_id(host: Host) -> str:
    """`GenuineIntel-6-8F` (vendor, family, model in hexadecimal) or `0x00000000410fd0c0`; empty where it is unknown."""
    midr = read_word(host.path(_MIDR))
    if midr:
        return _arm(midr)
    first = _first_processor(host)
    try:
        return f"{first['vendor_id']}-{int(first['cpu family'])}-{int(first['model']):X}"
    except (KeyError, ValueError):
        return ""


def virtual(host: Host) -> bool:
    """Whether a hypervisor lies beneath, as far as the host shows it."""
    return "hypervisor" in _first_processor(host).get("flags", "").split() or bool(
        read_word(host.path("/sys/hypervisor/type"))
    )


def _arm(midr: str) -> str:
    try:
        return f"0x{int(midr, 16) & ~_VARIANT_AND_REVISION:016x}"
    except ValueError:
        return ""


def _first_processor(host: Host) -> dict[str, str]:
    """Of /proc/cpuinfo, the lines up to the first empty one."""
    fields = {}
    for line in read_word(host.path("/proc/cpuinfo")).splitlines():
        name, colon, value = line.partition(":")
        if not colon:
            break
        fields[name.strip()] = value.strip()
    return fields
