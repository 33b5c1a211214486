"""Drivers' own statistics, with a stand-in for the kernel at the ioctl."""

from __future__ import annotations

import ctypes
import errno
import struct
from pathlib import Path

import numpy as np
import pytest

from hostsight.errors import NoDataError
from ingest.collector import Host
from ingest.collectors.ethtool import SIOCETHTOOL, EthtoolCollector
from ingest.collectors.ethtool_names import METRICS, chosen
from tests.unit.collectors.trees import Trees, read

MLX5 = {
    "rx_packets": 1, "tx_packets": 2, "rx_out_of_buffer": 11, "rx_discards_phy": 12, "tx_discards_phy": 13,
    "rx_pause_ctrl_phy": 14, "tx_pause_ctrl_phy": 15, "rx_prio3_pause": 900, "rx_crc_errors_phy": 16, "rx_symbol_err_phy": 17,
    "rx_in_range_len_errors_phy": 3, "rx_oversize_pkts_phy": 4, "rx_buff_alloc_err": 18, "tx_queue_stopped": 19,
    "link_down_events_phy": 20, "tx_timeout": 21, "rx0_packets": 1, "rx0_buff_alloc_err": 18,
}  # fmt: skip
IXGBE = {
    "rx_packets": 1, "rx_errors": 5, "rx_missed_errors": 31, "rx_fifo_errors": 0, "rx_no_dma_resources": 32, "rx_crc_errors": 33,
    "rx_length_errors": 6, "rx_long_length_errors": 1, "rx_short_length_errors": 2, "tx_timeout_count": 34,
    "tx_restart_queue": 35, "alloc_rx_page_failed": 7, "alloc_rx_buff_failed": 8, "tx_flow_control_xon_tx": 9,
    "rx_flow_control_xoff": 36, "tx_flow_control_xoff": 37, "fdir_miss": 1000,
}  # fmt: skip
ENA = {
    "tx_timeout": 1, "bw_in_allowance_exceeded": 41, "bw_out_allowance_exceeded": 2, "pps_allowance_exceeded": 300,
    "conntrack_allowance_exceeded": 0, "conntrack_allowance_available": 130_000, "queue_0_rx_page_alloc_fail": 4,
    "queue_1_rx_page_alloc_fail": 5, "queue_0_tx_queue_stop": 6, "queue_1_tx_queue_stop": 7, "queue_0_tx_cnt": 99,
}  # fmt: skip
VIRTIO = {"rx_queue_0_packets": 5, "rx_queue_0_drops": 6, "rx_queue_1_drops": 7, "tx_queue_0_tx_timeouts": 8}
BNXT = {"[0]: rx_ucast_packets": 1, "[0]: rx_discards": 5, "[1]: rx_discards": 6, "rx_pause_frames": 51, "tx_pause_frames": 52, "rx_fcs_err_frames": 53}  # fmt: skip
ICE = {
    "rx_dropped": 9,
    "link_xoff_rx.nic": 61,
    "link_xoff_tx.nic": 62,
    "rx_crc_errors.nic": 63,
    "rx_dropped.nic": 64,
    "rx_undersize.nic": 1,
    "rx_oversize.nic": 2,
    "rx_length_errors.nic": 4,
}
I40E = {
    "rx_dropped": 5,
    "rx_missed_errors": 71,
    "tx_dropped": 1,
    "port.rx_discards": 72,
    "port.rx_crc_errors": 73,
}
I40E_OLDER = {"rx_dropped": 71, "tx_dropped": 1, "port.rx_dropped": 72, "port.rx_crc_errors": 73}


class Kernel:
    """Answers SIOCETHTOOL for interfaces given as {name: (driver, {statistic: value})}, as net/ethtool/ioctl.c does."""

    def __init__(self, nics: dict[str, tuple[str, dict[str, int]]]) -> None:
        self.nics = nics

    def __call__(self, fd: int, request: int, ifreq: bytearray) -> int:
        assert request == SIOCETHTOOL
        name, address = struct.unpack("16sP16x", ifreq)
        interface = name.rstrip(b"\0").decode()
        if interface not in self.nics:
            raise OSError(errno.EOPNOTSUPP, "Operation not supported")
        driver, statistics = self.nics[interface]
        (command,) = struct.unpack("=I", ctypes.string_at(address, 4))
        answer = getattr(self, {0x03: "info", 0x1B: "strings", 0x1D: "values"}[command])(driver, statistics)
        ctypes.memmove(address, answer, len(answer))
        return 0

    def info(self, driver: str, statistics: dict[str, int]) -> bytes:
        return struct.pack("=I32s140xIIIII", 0x03, driver.encode(), 0, len(statistics), 0, 0, 0)

    def strings(self, _: str, statistics: dict[str, int]) -> bytes:
        return struct.pack("=III", 0x1B, 1, len(statistics)) + b"".join(
            name.encode().ljust(32, b"\0") for name in statistics
        )

    def values(self, _: str, statistics: dict[str, int]) -> bytes:
        return struct.pack(f"=II{len(statistics)}Q", 0x1D, len(statistics), *statistics.values())


def tree(root: Path, *interfaces: str) -> Path:
    for name in interfaces:
        (root / "sys/class/net" / name).mkdir(parents=True)
        (root / "sys/class/net" / name / "device").symlink_to("../../../0000:03:00.0")
    return root


def ask(root: Path, driver: str, statistics: dict[str, int]) -> dict[str, float]:
    values = read(EthtoolCollector(Kernel({"eth0": (driver, statistics)})), tree(root, "eth0"))
    return {
        key.removeprefix("network eth0 nic_").removesuffix("_per_s"): value for key, value in values.items()
    }


def test_mlx5(tmp_path: Path) -> None:
    assert ask(tmp_path, "mlx5_core", MLX5) == {
        "rx_missed_packets": 11,
        "rx_fifo_packets": 12,
        "tx_discarded_packets": 13,
        "rx_pause_packets": 14,
        "tx_pause_packets": 15,
        "rx_crc_errors": 16,
        "rx_symbol_errors": 17,
        "rx_length_errors": 7,
        "buffer_allocation_failures": 18,
        "tx_timeouts": 21,
        "tx_queue_stops": 19,
        "link_downs": 20,
    }


def test_ixgbe_calls_a_full_buffer_missed(tmp_path: Path) -> None:
    values = ask(tmp_path, "ixgbe", IXGBE)
    assert values["rx_missed_packets"] == 32
    assert values["rx_fifo_packets"] == 31
    assert values["rx_length_errors"] == 9
    assert values["buffer_allocation_failures"] == 15
    assert (values["rx_pause_packets"], values["tx_pause_packets"]) == (36, 37)
    assert (values["tx_timeouts"], values["tx_queue_stops"]) == (34, 35)


def test_limits_of_a_cloud_instance(tmp_path: Path) -> None:
    values = ask(tmp_path, "ena", ENA)
    assert values == {
        "shaped_packets": 343,
        "buffer_allocation_failures": 9,
        "tx_timeouts": 1,
        "tx_queue_stops": 13,
    }


def test_queues_are_added_up(tmp_path: Path) -> None:
    assert ask(tmp_path / "virtio", "virtio_net", VIRTIO) == {"rx_missed_packets": 13, "tx_timeouts": 8}
    values = ask(tmp_path / "bnxt", "bnxt_en", BNXT)
    assert values["rx_missed_packets"] == 11
    assert (values["rx_pause_packets"], values["tx_pause_packets"], values["rx_crc_errors"]) == (51, 52, 53)


def test_ice_tells_its_own_buffer_apart(tmp_path: Path) -> None:
    values = ask(tmp_path, "ice", ICE)
    assert values == {
        "rx_missed_packets": 9,
        "rx_fifo_packets": 64,
        "rx_pause_packets": 61,
        "tx_pause_packets": 62,
        "rx_crc_errors": 63,
        "rx_length_errors": 7,
    }


@pytest.mark.parametrize("statistics", [I40E, I40E_OLDER])
def test_i40e_under_its_old_and_new_names(tmp_path: Path, statistics: dict[str, int]) -> None:
    values = ask(tmp_path, "i40e", statistics)
    assert (values["rx_missed_packets"], values["rx_fifo_packets"], values["rx_crc_errors"]) == (71, 72, 73)


def test_what_vmxnet3_and_qede_call_full_buffers(tmp_path: Path) -> None:
    queues = {"Tx Queue#": 0, "  ring full": 3, "Rx Queue#": 0, "  pkts rx OOB": 5}
    assert ask(tmp_path / "vmxnet3", "vmxnet3", queues) == {"rx_missed_packets": 5, "tx_queue_stops": 3}
    adapter = {"no_buff_discards": 4, "brb_discards": 6, "brb_truncates": 1}
    assert ask(tmp_path / "qede", "qede", adapter) == {"rx_missed_packets": 4, "rx_fifo_packets": 6}


def test_a_total_and_its_parts_are_never_added_up() -> None:
    names = ["rx_missed_errors", "rx_queue_0_drops", "rx_queue_1_drops"]
    assert [one.places for one in chosen("unknown", names) if one.metric is METRICS[0]] == [(0,)]


def test_several_interfaces_each_with_its_driver(tmp_path: Path) -> None:
    kernel = Kernel({"eth0": ("ena", ENA), "eth1": ("ice", ICE)})
    collector = EthtoolCollector(kernel)
    slots = collector.open(Host(tree(tmp_path, "eth0", "eth1", "eth2")))
    assert [slot.device for slot in slots] == ["eth0"] * 4 + ["eth1"] * 6
    assert collector.absent() == [("driver's statistics of eth2", "not supported", "")]
    del kernel.nics["eth0"]
    out = np.full(10, np.nan)
    assert collector.read(out)
    assert np.isnan(out[:4]).all()
    assert out[4:6].tolist() == [9, 64]
    collector.close()


def test_a_driver_that_gets_more_queues_is_asked_anew(tmp_path: Path) -> None:
    statistics = dict(VIRTIO)
    collector = EthtoolCollector(Kernel({"eth0": ("virtio_net", statistics)}))
    host = Host(tree(tmp_path, "eth0"))
    out = np.empty(len(collector.open(host)))
    assert collector.read(out)
    statistics["rx_queue_2_drops"] = 100
    assert not collector.read(out)
    collector.open(host)
    assert collector.read(out)
    assert out.tolist() == [113, 8]
    collector.close()


def test_a_captured_tree_has_no_driver_to_ask(trees: Trees) -> None:
    with pytest.raises(NoDataError, match="captured"):
        EthtoolCollector().open(Host(trees.prometheus))


@pytest.mark.parametrize("count", [0, 2**31])
def test_a_driver_that_gives_an_absurd_count_is_passed_over(tmp_path: Path, count: int) -> None:
    kernel = Kernel({"eth0": ("odd", {})})
    kernel.info = lambda driver, statistics: struct.pack("=I32s140xIIIII", 3, b"odd", 0, count, 0, 0, 0)  # type: ignore[method-assign]  # this once
    with pytest.raises(NoDataError):
        EthtoolCollector(kernel).open(Host(tree(tmp_path, "eth0")))
