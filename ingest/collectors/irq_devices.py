"""Which device each row of /proc/interrupts belongs to.

The device's interface or disk name is taken from the PCI tree where it has exactly one; else the name that the driver
gave the interrupt, without its queue; with the PCI address where several devices share that name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ingest.collectors.irq_table import IrqRow
from ingest.collectors.pci import ADDRESS, PciDevice

_QUEUE = re.compile(r"(.+?)-(?:TxRx|Tx-Rx|rx|tx|fp)(?:-?\d+)?", re.IGNORECASE)
_NVME = re.compile(r"(nvme\d+)q\d+")
_MELLANOX = re.compile(r"(mlx\d)_.*")
_TRIGGER = re.compile(r"(?:\d+-?)?(?:edge|level|fasteoi)?|-\w+", re.IGNORECASE)
_LONG_CHIP = re.compile(r"\S+ \S+ \d+ (?:edge|level) (.*)", re.IGNORECASE)
"""`RISC-V INTC 5 Edge riscv-timer`."""
_STEM = re.compile(r"[^-.:@\[]+")


@dataclass(frozen=True, slots=True)
class IrqDevice:
    """A device, the positions of its rows, and its NUMA node where that is known."""

    name: str
    rows: tuple[int, ...]
    node: int | None


def driver_name(description: str) -> str:
    """`eth0` of `IR-PCI-MSI 524288-edge eth0-TxRx-3`, `nvme0` of `... nvme0q5`; empty where no driver listens.

    `description` is what follows the counts: chip, trigger and the handlers' names, separated by blanks.
    """
    action = _action(description).partition(",")[0].strip()
    name = action.partition("@")[0].partition("[")[0]
    for pattern in (_QUEUE, _NVME, _MELLANOX):
        found = pattern.fullmatch(name)
        if found:
            return found[1]
    stem = _STEM.match(name)
    return stem[0].strip().replace(" ", "_") if stem else ""


def _action(description: str) -> str:
    """The words after the chip and the trigger."""
    found = _LONG_CHIP.fullmatch(description)
    if found:
        return found[1]
    words = description.split(" ")
    start = 1
    while start < len(words) and _TRIGGER.fullmatch(words[start]):
        start += 1
    return " ".join(words[start:])


def irq_devices(rows: Sequence[IrqRow], pci: Sequence[PciDevice]) -> list[IrqDevice]:
    """The devices of all numbered rows, in the order of their first row."""
    by_interrupt = {str(irq): device for device in pci for irq in device.interrupts}
    by_address = {device.address: device for device in pci}
    owners: dict[tuple[str, str], list[int]] = {}
    for at, row in enumerate(rows):
        if row.label.isdecimal() and row.by_cpu:
            address = _address(row, by_interrupt)
            name = driver_name(row.description) or f"irq{row.label}"
            device = by_address.get(address)
            if device and len(device.names) == 1:
                name = device.names[0]
            owners.setdefault((name, address), []).append(at)
    shared = [name for name, _ in owners]
    return [
        IrqDevice(
            f"{name}@{address}" if address and shared.count(name) > 1 else name,
            tuple(places),
            by_address[address].node if address in by_address else None,
        )
        for (name, address), places in owners.items()
    ]


def _address(row: IrqRow, by_interrupt: dict[str, PciDevice]) -> str:
    if row.label in by_interrupt:
        return by_interrupt[row.label].address
    found = ADDRESS.search(row.description)
    return found[0] if found else ""
