"""PCI Express links and their errors."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from hostsight.errors import NoDataError
from ingest.collector import Host
from ingest.collectors.pcie import PcieCollector, gigatransfers, total
from tests.unit.collectors.trees import Trees, read, write

BUS = "sys/devices/pci0000:00"


def link(address: str, speed: str, width: int, most: str, lanes: int) -> dict[str, str]:
    return {
        f"{BUS}/{address}/class": "0x030200\n",
        f"{BUS}/{address}/current_link_speed": f"{speed}\n",
        f"{BUS}/{address}/current_link_width": f"{width}\n",
        f"{BUS}/{address}/max_link_speed": f"{most}\n",
        f"{BUS}/{address}/max_link_width": f"{lanes}\n",
    }


def test_links_of_a_server(trees: Trees) -> None:
    values = read(PcieCollector(), trees.dual_xeon)
    nic, adapter, graphics = "0000:3a:00.0", "0000:13:00.0", "0000:3d:00.0"
    assert values[f"interconnect {nic} link_speed_transfers_per_s"] == 5e9
    assert values[f"interconnect {nic} link_generation"] == 2
    assert values[f"interconnect {nic} link_lanes"] == 8
    assert values[f"interconnect {nic} link_speed_percent"] == 100
    assert values[f"interconnect {nic} pcie_correctable_errors_per_s"] == 0
    assert values[f"interconnect {adapter} link_speed_transfers_per_s"] == 8e9
    assert values[f"interconnect {adapter} link_generation"] == 3
    assert values[f"interconnect {adapter} link_lanes_percent"] == 100
    assert values[f"interconnect {graphics} link_speed_transfers_per_s"] == 2.5e9
    assert values[f"interconnect {graphics} link_generation"] == 1
    assert values[f"interconnect {graphics} link_lanes"] == 1


def test_bridges_that_are_held_back_by_what_is_behind_them(trees: Trees) -> None:
    values = read(PcieCollector(), trees.dual_xeon)
    assert values["interconnect 0000:00:02.0 link_lanes"] == 8
    assert values["interconnect 0000:00:02.0 link_lanes_percent"] == 50  # of 16
    assert values["interconnect 0000:00:03.2 link_speed_percent"] == 62.5  # 5 of 8 GT/s
    assert values["interconnect 0000:80:01.0 link_speed_percent"] == 62.5


def test_empty_slots_and_built_in_devices_have_no_link(trees: Trees) -> None:
    devices = {key.split()[1] for key in read(PcieCollector(), trees.dual_xeon) if "link" in key}
    assert not devices & {"0000:00:1c.0", "0000:80:03.0"}  # of no lanes now
    assert not devices & {"0000:00:04.0", "0000:ff:13.0", "0000:00:00.0"}  # speed unknown, 255 lanes at most
    assert len(devices) == 15


def test_errors_by_severity(trees: Trees) -> None:
    values = read(PcieCollector(), trees.prometheus)
    assert values["interconnect 0000:00:1f.6 pcie_correctable_errors_per_s"] == 9
    assert values["interconnect 0000:00:1f.6 pcie_nonfatal_errors_per_s"] == 48
    assert values["interconnect 0000:00:1f.6 pcie_fatal_errors_per_s"] == 28
    assert values["interconnect 0000:a2:00.0 link_generation"] == 4
    assert values["interconnect 0000:01:00.0 link_lanes"] == 4


def test_a_card_that_can_do_more(trees: Trees) -> None:
    values = read(PcieCollector(), trees.node_exporter)
    assert values["interconnect 0000:01:00.0 link_speed_percent"] == 50
    assert values["interconnect 0000:01:00.0 link_lanes_percent"] == 100
    assert values["interconnect 0000:00:02.1 link_lanes_percent"] == 50


def test_a_link_that_breaks_down_goes_to_no_lanes(tmp_path: Path) -> None:
    collector = PcieCollector()
    slots = collector.open(
        Host(write(tmp_path, link("0000:00:01.0", "32.0 GT/s PCIe", 16, "32.0 GT/s PCIe", 16)))
    )
    write(tmp_path, link("0000:00:01.0", "Unknown", 0, "32.0 GT/s PCIe", 16))
    out = np.full(len(slots), np.nan)
    assert collector.read(out)
    got = {slot.metric.name: value for slot, value in zip(slots, out, strict=True)}
    assert got["link_lanes"] == 0
    assert got["link_lanes_percent"] == 0
    assert math.isnan(got["link_generation"])


def test_devices_come_before_bridges_when_there_are_too_many(trees: Trees) -> None:
    collector = PcieCollector()
    slots = collector.open(Host(trees.dual_xeon, device_limit=3))
    assert {slot.device for slot in slots} == {"0000:03:00.0", "0000:03:00.1", "0000:13:00.0"}
    assert collector.absent()[-1][0].endswith("more of pcie")


@pytest.mark.parametrize(
    ("text", "speed"),
    [(b"16.0 GT/s PCIe\n", 16), (b"5 GT/s\n", 5), (b"Unknown\n", None), (b"\xff8 GT/s", None)],
)
def test_speeds(text: bytes, speed: float | None) -> None:
    assert gigatransfers(text) == pytest.approx(math.nan if speed is None else speed, nan_ok=True)


def test_errors_without_a_total_are_absent() -> None:
    assert math.isnan(total(b"RxErr 1\nTOTAL_ERR_COR x\n")[0])
    assert math.isnan(total(b"RxErr 1\n")[0])


def test_a_virtual_machine_without_links(tmp_path: Path) -> None:
    with pytest.raises(NoDataError, match="virtual machine"):
        PcieCollector().open(Host(write(tmp_path, {f"{BUS}/0000:00:01.0/class": "0x020000\n"})))


def test_devices_that_the_bus_alone_shows(tmp_path: Path) -> None:
    """Behind Intel's VMD, in a virtual machine of Hyper-V, and in captures that lack /sys/devices."""
    inside = "sys/devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:01.0"
    root = write(tmp_path, {f"{inside}/{name}": text for name, text in LINK.items()})
    write(root, {f"sys/bus/pci/devices/0035:04:00.0/{name}": text for name, text in LINK.items()})
    (root / "sys/bus/pci/devices/10000:e0:01.0").symlink_to(f"../../../../{inside}")
    (root / "sys/bus/pci/devices/0000:00:0e.0").symlink_to("../../../devices/pci0000:00/0000:00:0e.0")
    (root / "sys/bus/pci/devices/0000:00:0f.0").symlink_to("nowhere")
    values = read(PcieCollector(), root)
    assert values["interconnect 10000:e0:01.0 link_lanes"] == 4
    assert values["interconnect 0035:04:00.0 link_speed_transfers_per_s"] == 16e9
    assert {key.split()[1] for key in values} == {"10000:e0:01.0", "0035:04:00.0"}


LINK = {
    "current_link_speed": "16.0 GT/s PCIe\n",
    "current_link_width": "4\n",
    "max_link_speed": "16.0 GT/s PCIe\n",
    "max_link_width": "4\n",
}


def test_links_that_lead_back_are_not_walked(tmp_path: Path) -> None:
    """Two of them would double the way at each step."""
    root = write(tmp_path, {f"{BUS}/0000:00:01.0/{name}": text for name, text in LINK.items()})
    for name in ("0000:00:02.0", "0000:00:03.0"):
        (root / BUS / "0000:00:01.0" / name).symlink_to("..")
    assert {key.split()[1] for key in read(PcieCollector(), root)} == {"0000:00:01.0"}
