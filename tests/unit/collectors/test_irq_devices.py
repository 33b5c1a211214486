"""Whose interrupt a row of /proc/interrupts is."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.collector import Host
from ingest.collectors.irq_devices import IrqDevice, driver_name, irq_devices
from ingest.collectors.irq_table import IrqRow
from ingest.collectors.pci import PciDevice, pci_devices
from tests.unit.collectors.trees import Trees, write


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ("IR-PCI-MSIX-0000:3b:00.0 1-edge mlx5_comp0@pci:0000:3b:00.0", "mlx5"),
        ("IR-PCI-MSIX-0000:82:00.1 31-edge eno4-TxRx-31", "eno4"),
        ("IR-PCI-MSI 102242399-edge i40e-enp195s0f3-TxRx-60", "i40e-enp195s0f3"),
        ("PCI-MSI 524288-edge nvme12q5", "nvme12"),
        ("PCI-MSIX-0000:00:03.0 1-edge virtio2-input.0", "virtio2"),
        ("IR-PCI-MSIX-0000:23:00.0 20-edge megasas0-msix20", "megasas0"),
        ("IR-IO-APIC 18-fasteoi ehci_hcd:usb1, ehci_hcd:usb2, i801_smbus", "ehci_hcd"),
        ("IR-PCI-MSI-0000:00:01.0 0-edge PCIe PME, aerdrv", "PCIe_PME"),
        ("IO-APIC 4-edge ttyS0", "ttyS0"),
        ("PCI-MSI 512000-edge ahci[0000:00:1f.2]", "ahci"),
        ("IR-PCI-MSI-edge nvidia", "nvidia"),
        ("IO-APIC 9-fasteoi", ""),
        ("GICv3 27 Level arch_timer", "arch_timer"),
        ("SiFive PLIC 39 Level ttySIF0", "ttySIF0"),
        ("xen-percpu -virq timer0", "timer0"),
        ("", ""),
    ],
)
def test_driver_name(description: str, name: str) -> None:
    assert driver_name(description) == name


def row(label: str, description: str) -> IrqRow:
    return IrqRow(label, description, by_cpu=True)


def test_the_name_of_the_interface_or_disk_wins() -> None:
    pci = [
        PciDevice("0000:3b:00.0", 1, (24, 25), ("ens1f0",)),
        PciDevice("0000:5e:00.0", 0, (26,), ("nvme0",)),
    ]
    rows = [row("24", "PCI-MSI 1-edge mlx5_comp0@pci:0000:3b:00.0"), row("26", "PCI-MSI 1-edge nvme0q0")]
    rows += [row("25", "PCI-MSI 2-edge mlx5_comp1@pci:0000:3b:00.0"), row("LOC", "Local timer interrupts")]
    assert irq_devices(rows, pci) == [IrqDevice("ens1f0", (0, 2), 1), IrqDevice("nvme0", (1,), 0)]


def test_devices_of_one_driver_are_told_apart_by_address() -> None:
    pci = [PciDevice("0000:1b:00.0", 0, (30,), ()), PciDevice("0000:ac:00.0", 1, (31,), ())]
    rows = [row("30", "PCI-MSI 1-edge nvidia"), row("31", "PCI-MSI 2-edge nvidia")]
    assert irq_devices(rows, pci) == [
        IrqDevice("nvidia@0000:1b:00.0", (0,), 0),
        IrqDevice("nvidia@0000:ac:00.0", (1,), 1),
    ]


def test_pci_devices_of_a_server(trees: Trees) -> None:
    found = {device.address: device for device in pci_devices(Host(trees.dual_xeon))}
    assert found["0000:3a:00.0"].node == 0
    assert found["0000:82:00.1"].node == 1
    assert len(found["0000:13:00.0"].interrupts) == 81
    assert found["0000:82:00.1"].names == ("eno4",)


def test_virtio_devices_are_found_below_their_pci_device(tmp_path: Path) -> None:
    folder = "sys/devices/pci0000:00/0000:00:02.0"
    write(
        tmp_path,
        {
            f"{folder}/msi_irqs/36": "msix\n",
            f"{folder}/numa_node": "-1\n",
            f"{folder}/virtio1/block/vda/size": "8\n",
        },
    )
    assert pci_devices(Host(tmp_path)) == [PciDevice("0000:00:02.0", None, (36,), ("vda",))]
