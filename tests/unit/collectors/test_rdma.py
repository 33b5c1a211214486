"""Traffic and errors of RDMA ports."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hostsight.errors import NoDataError
from ingest.collector import Host
from ingest.collectors.rdma import RdmaCollector, RdmaErrorsCollector
from tests.unit.collectors.trees import Trees, read, write

PORT = "sys/class/infiniband/mlx5_0/ports/1"


def test_a_port_without_counters_is_a_port(tmp_path: Path) -> None:
    root = write(tmp_path, {"sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n"})
    assert read(RdmaCollector(), root) == {"network mlx5_0:1 link_up": 1}
    with pytest.raises(NoDataError, match="no port of /sys/class/infiniband shows what rdma_errors reads"):
        RdmaErrorsCollector().open(Host(root))


def test_data_is_counted_in_words_of_four_bytes(trees: Trees) -> None:
    values = read(RdmaCollector(), trees.h100)
    assert values["network mlx5_4:1 rx_bytes_per_s"] == 230_539_874_932_483 * 4
    assert values["network mlx5_4:1 tx_bytes_per_s"] == 230_442_669_431_839 * 4
    assert values["network mlx5_4:1 rx_packets_per_s"] == 317_548_853_677
    assert values["network mlx5_4:1 tx_packets_per_s"] == 315_487_941_081
    assert values["network mlx5_4:1 tx_wait_ticks_per_s"] == 2_489_603_687


def test_links_of_eight_adapters_and_a_bond(trees: Trees) -> None:
    values = read(RdmaCollector(), trees.h100)
    speeds = {key.split()[1]: value for key, value in values.items() if "link_speed" in key}
    assert speeds.pop("mlx5_bond_0:1") == 200e9 / 8
    assert speeds == dict.fromkeys((f"mlx5_{at}:1" for at in (0, 1, 4, 5, 6, 7, 8, 9)), 50e9)
    assert all(value == 1 for key, value in values.items() if key.endswith("link_up"))


def test_both_ports_of_an_adapter_in_a_tree_without_classes(trees: Trees) -> None:
    values = read(RdmaCollector(), trees.dual_xeon)
    assert {key.split()[1] for key in values} == {"mlx4_0:1", "mlx4_0:2"}
    assert values["network mlx4_0:1 rx_bytes_per_s"] == 322_333_200 * 4
    assert values["network mlx4_0:1 tx_bytes_per_s"] == 84_058_272 * 4
    assert values["network mlx4_0:1 rx_packets_per_s"] == 8_289_588
    assert values["network mlx4_0:1 tx_packets_per_s"] == 1_167_476
    assert values["network mlx4_0:1 link_speed_bytes_per_s"] == 5e9
    assert (
        read(RdmaErrorsCollector(), trees.dual_xeon)["network mlx4_0:1 rx_multicast_packets_per_s"]
        == 7_122_112
    )


def test_errors(trees: Trees) -> None:
    values = read(RdmaErrorsCollector(), trees.h100)
    assert values["network mlx5_0:1 rdma_rx_errors_per_s"] == 14
    assert values["network mlx5_0:1 rdma_buffer_overruns_per_s"] == 15
    assert values["network mlx5_0:1 rdma_rx_relay_errors_per_s"] == 1
    assert values["network mlx5_0:1 rdma_symbol_errors_per_s"] == 0
    assert values["network mlx5_0:1 rdma_adaptive_retransmits_per_s"] == 3
    assert values["network mlx5_0:1 rdma_read_requests_per_s"] == 9_187_392
    assert values["network mlx5_0:1 rdma_write_requests_per_s"] == 3_809_045_607


def test_counters_of_the_hardware(trees: Trees) -> None:
    values = read(RdmaErrorsCollector(), trees.prometheus)
    assert values["network mlx5_0:1 rdma_duplicate_requests_per_s"] == 41
    assert values["network mlx5_0:1 rdma_ack_timeouts_per_s"] == 131
    assert values["network mlx5_0:1 rdma_out_of_sequence_per_s"] == 1
    assert values["network mlx5_0:1 rdma_request_errors_per_s"] == 3481
    assert values["network mlx5_0:1 rdma_response_errors_per_s"] == 8109
    assert values["network mlx5_0:1 rdma_response_flushes_per_s"] == 4708
    traffic = read(RdmaCollector(), trees.prometheus)
    assert traffic["network hfi1_0:1 tx_bytes_per_s"] == 273_558_326_543 * 4
    assert traffic["network mlx4_0:2 tx_wait_ticks_per_s"] == 3846


def test_an_adapter_without_counters_says_so(trees: Trees) -> None:
    collector = RdmaCollector()
    devices = {
        slot.device
        for slot in collector.open(Host(trees.node_exporter))
        if slot.metric.name == "rx_bytes_per_s"
    }
    assert "i40iw0:1" not in devices
    assert ("rx_bytes_per_s of i40iw0:1", "N/A", "") in collector.absent()
    assert read(RdmaErrorsCollector(), trees.node_exporter)["network mlx4_0:1 rdma_tx_discards_per_s"] == 5


def test_a_counter_that_begins_to_count_is_listed(tmp_path: Path) -> None:
    write(tmp_path, {f"{PORT}/counters/port_rcv_data": "N/A (no PMA)\n", f"{PORT}/state": "1: DOWN\n"})
    collector = RdmaCollector()
    out = np.empty(len(collector.open(Host(tmp_path))))
    assert collector.read(out)
    assert out.tolist() == [0]  # down
    write(tmp_path, {f"{PORT}/counters/port_rcv_data": "25\n"})
    assert not collector.read(out)
    assert read(RdmaCollector(), tmp_path)["network mlx5_0:1 rx_bytes_per_s"] == 100


def test_no_adapter(tmp_path: Path) -> None:
    with pytest.raises(NoDataError):
        RdmaCollector().open(Host(tmp_path))
