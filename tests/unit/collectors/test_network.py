"""Network interfaces and their links."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hostsight.errors import NoDataError
from ingest.collector import Host
from ingest.collectors.link import LinkCollector
from ingest.collectors.network import NetworkCollector
from tests.unit.collectors.trees import Trees, read, write

HEADER = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
"""


def line(name: str, *numbers: int) -> str:
    """Sixteen columns, the rest 0."""
    return f"{name}: {' '.join(map(str, [*numbers, *[0] * (16 - len(numbers))]))}\n"


def test_interfaces(trees: Trees) -> None:
    got = read(NetworkCollector(), trees.prometheus)
    assert got["network eth0 rx_bytes_per_s"] == 874_354_587
    assert got["network eth0 rx_packets_per_s"] == 1_036_395
    assert got["network eth0 tx_bytes_per_s"] == 563_352_563
    assert got["network eth0 tx_packets_per_s"] == 732_147
    assert got["network docker0 rx_bytes_per_s"] == 2_568
    assert {key.split()[1] for key in got} == {"eth0", "docker0"}


def test_each_column_feeds_its_own_metric(tmp_path: Path) -> None:
    write(tmp_path, {"proc/net/dev": HEADER + line("eth0", *range(1, 17))})
    got = read(NetworkCollector(), tmp_path)
    assert list(got.values()) == [1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15]
    assert got["network eth0 rx_dropped_packets_per_s"] == 4
    assert got["network eth0 rx_multicast_packets_per_s"] == 8
    assert got["network eth0 tx_error_packets_per_s"] == 11
    assert got["network eth0 tx_carrier_errors_per_s"] == 15


def test_interfaces_without_traffic_are_left_out(trees: Trees) -> None:
    got = read(NetworkCollector(), trees.tar("xeon-e7-480cpu"))
    assert {key.split()[1] for key in got} == {"eth0"}
    assert got["network eth0 rx_bytes_per_s"] == 14_948_502
    assert got["network eth0 rx_multicast_packets_per_s"] == 45_891


def test_hardware_comes_before_busier_software(tmp_path: Path) -> None:
    write(tmp_path, {"proc/net/dev": HEADER + line("br0", 999) + line("eth0", 5)})
    interface = tmp_path / "sys/class/net/eth0"
    interface.mkdir(parents=True)
    (interface / "device").symlink_to("../../../0000:03:00.0")
    assert set(read(NetworkCollector(), tmp_path, devices=1)) >= {"network eth0 rx_bytes_per_s"}


class TestChanges:
    START = HEADER + line("lo", 9) + line("eth0", 10) + line("eth1") + line("veth1", 5)

    @pytest.fixture
    def collector(self, tmp_path: Path) -> NetworkCollector:
        write(tmp_path, {"proc/net/dev": self.START})
        collector = NetworkCollector()
        assert len(collector.open(Host(tmp_path))) == 14
        return collector

    def received(self, collector: NetworkCollector, root: Path, text: str) -> float | None:
        write(root, {"proc/net/dev": text})
        out = np.empty(14)
        return float(out[0]) if collector.read(out) else None

    def test_traffic(self, collector: NetworkCollector, tmp_path: Path) -> None:
        assert self.received(collector, tmp_path, self.START.replace("eth0: 10", "eth0: 70")) == 70

    def test_containers_come_and_go_unnoticed(self, collector: NetworkCollector, tmp_path: Path) -> None:
        moved = HEADER + line("veth7", 3) + line("lo", 9) + line("veth8", 3) + line("eth1") + line("eth0", 20)
        assert self.received(collector, tmp_path, moved) == 20
        assert self.received(collector, tmp_path, self.START) == 10

    def test_a_quiet_interface_that_begins_asks_for_a_new_layout(
        self, collector: NetworkCollector, tmp_path: Path
    ) -> None:
        assert self.received(collector, tmp_path, self.START.replace("eth1: 0", "eth1: 1")) is None

    @pytest.mark.parametrize("text", [HEADER + line("lo", 9), START + line("eth2", 1), ""])
    def test_hotplug_asks_for_a_new_layout(
        self, collector: NetworkCollector, tmp_path: Path, text: str
    ) -> None:
        assert self.received(collector, tmp_path, text) is None

    def test_a_line_that_makes_no_sense_is_absent(self, collector: NetworkCollector, tmp_path: Path) -> None:
        value = self.received(collector, tmp_path, self.START.replace("eth0: 10", "eth0: x"))
        assert value is not None
        assert np.isnan(value)
        value = self.received(collector, tmp_path, self.START.replace("eth0: 10", "eth0: 10 11"))
        assert value is not None
        assert np.isnan(value)


def test_a_new_column_is_passed_over(tmp_path: Path) -> None:
    header = HEADER.replace("errs", "novel errs", 1)
    write(tmp_path, {"proc/net/dev": header + f"eth0: {' '.join(map(str, range(1, 18)))}\n"})
    got = read(NetworkCollector(), tmp_path)
    assert got["network eth0 rx_error_packets_per_s"] == 4
    assert got["network eth0 tx_bytes_per_s"] == 10


class TestLinks:
    def test_captured(self, trees: Trees) -> None:
        assert read(LinkCollector(), trees.prometheus) == {
            "network eth0 link_up": 1,
            "network eth0 link_speed_bytes_per_s": 1000 * 125_000,
            "network eth0 link_changes_per_s": 2,
        }

    def test_a_server_s_ports_in_a_tree_without_classes(self, trees: Trees) -> None:
        got = read(LinkCollector(), trees.dual_xeon)
        speeds = {
            key.split()[1]: value for key, value in got.items() if "speed" in key and np.isfinite(value)
        }
        assert speeds == {"eno1": 1.25e9, "eno3": 1.25e9, "ib0": 5e9}
        up = {key.split()[1]: value for key, value in got.items() if key.endswith("link_up")}
        assert up == {"eno1": 1, "eno2": 0, "eno3": 1, "eno4": 0, "ib0": 1, "ib1": 0}
        assert got["network eno1 link_changes_per_s"] == 4
        assert got["network ib0 link_changes_per_s"] == 2
        assert got["network eno1 rx_missed_packets_per_s"] == 0

    @pytest.mark.parametrize("speed", ["-1\n", "4294967295\n", "unknown\n"])
    def test_a_speed_that_is_not_known_is_absent(self, tmp_path: Path, speed: str) -> None:
        write(tmp_path, {"sys/class/net/eth0/speed": speed, "sys/class/net/eth0/carrier": "0\n"})
        (tmp_path / "sys/class/net/eth0/device").symlink_to("nowhere")
        got = read(LinkCollector(), tmp_path)
        assert got["network eth0 link_up"] == 0
        assert np.isnan(got["network eth0 link_speed_bytes_per_s"])

    def test_a_new_interface_asks_for_a_new_layout(self, tmp_path: Path) -> None:
        write(tmp_path, {"sys/class/net/eth0/carrier": "1\n"})
        (tmp_path / "sys/class/net/eth0/device").symlink_to("nowhere")
        collector = LinkCollector()
        out = np.empty(len(collector.open(Host(tmp_path))))
        (tmp_path / "sys/class/net/veth1").mkdir()
        assert collector.read(out) is True  # of a container
        (tmp_path / "sys/class/net/eth1").mkdir()
        (tmp_path / "sys/class/net/eth1/device").symlink_to("nowhere")
        assert collector.read(out) is False

    def test_software_interfaces_have_no_link(self, tmp_path: Path) -> None:
        write(tmp_path, {"sys/class/net/lo/carrier": "1\n"})
        with pytest.raises(NoDataError):
            LinkCollector().open(Host(tmp_path))
