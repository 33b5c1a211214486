"""TCP, UDP, IP, and sockets."""

from __future__ import annotations

from pathlib import Path

from ingest.collectors.sockstat import SockstatCollector
from ingest.collectors.tcp import TcpCollector
from tests.unit.collectors.trees import Trees, read, write


def test_snmp(trees: Trees) -> None:
    got = read(TcpCollector(), trees.tar("xeon-e7-480cpu"))
    expected = {
        "ip_rx_packets_per_s": 55_577,
        "ip_rx_address_error_packets_per_s": 4,
        "ip_rx_delivered_packets_per_s": 13_025,
        "ip_tx_packets_per_s": 10_239,
        "icmp_rx_packets_per_s": 7,
        "tcp_active_opens_per_s": 40,
        "tcp_passive_opens_per_s": 7,
        "tcp_failed_attempts_per_s": 4,
        "tcp_established_resets_per_s": 0,
        "tcp_established_connections": 2,
        "tcp_rx_segments_per_s": 11_539,
        "tcp_tx_segments_per_s": 9_607,
        "tcp_retransmitted_segments_per_s": 18,
        "tcp_rx_error_segments_per_s": 0,
        "tcp_reset_tx_segments_per_s": 19,
        "udp_rx_packets_per_s": 443,
        "udp_tx_packets_per_s": 611,
        "udp_rx_error_packets_per_s": 0,
    }
    assert {name: got[f"network host {name}"] for name in expected} == expected


def test_netstat_of_an_old_kernel(trees: Trees) -> None:
    got = read(TcpCollector(), trees.tar("xeon-e7-480cpu"))
    expected = {
        "tcp_time_waits_per_s": 0,
        "tcp_delayed_acks_per_s": 39,
        "tcp_listen_overflows_per_s": 0,
        "tcp_sack_recoveries_per_s": 2,
        "tcp_reorderings_per_s": 1,
        "tcp_lost_retransmits_per_s": 0,
        "tcp_fast_retransmitted_segments_per_s": 3,
        "tcp_slow_start_retransmitted_segments_per_s": 1,
        "tcp_timeouts_per_s": 11,
        "tcp_duplicates_reported_per_s": 12,
        "tcp_spurious_timeouts_per_s": 1,
        "ip_rx_bytes_per_s": 11_590_621,
        "ip_tx_bytes_per_s": 11_340_184,
    }
    assert {name: got[f"network host {name}"] for name in expected} == expected
    assert "network host tcp_delivered_segments_per_s" not in got


def test_snmp6(trees: Trees) -> None:
    got = read(TcpCollector(), trees.tar("xeon-e7-480cpu"))
    assert got["network host ip6_rx_packets_per_s"] == 3272
    assert got["network host ip6_tx_packets_per_s"] == 255
    assert got["network host ip6_rx_bytes_per_s"] == 360_319
    assert got["network host ip6_tx_bytes_per_s"] == 19_176
    assert got["network host udp6_tx_packets_per_s"] == 73


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    write(tmp_path, {"proc/net/snmp": "Tcp: New RetransSegs MaxConn OutSegs\nTcp: 9 3 -1 40 77\n"})
    assert read(TcpCollector(), tmp_path) == {
        "network host tcp_tx_segments_per_s": 40,
        "network host tcp_retransmitted_segments_per_s": 3,
    }


def test_sockstat(trees: Trees) -> None:
    got = read(SockstatCollector(), trees.prometheus)
    assert got == {
        "network host used_sockets": 1602,
        "network host tcp_sockets": 35,
        "network host tcp_orphan_sockets": 0,
        "network host tcp_time_wait_sockets": 4,
        "network host tcp_allocated_sockets": 59,
        "network host tcp_memory_bytes": 22 * 4096,
        "network host udp_sockets": 12,
        "network host udp_memory_bytes": 62 * 4096,
        "network host raw_sockets": 0,
        "network host reassembly_memory_bytes": 0,
        "network host tcp6_sockets": 17,
        "network host udp6_sockets": 9,
        "network host raw6_sockets": 1,
        "network host reassembly6_memory_bytes": 0,
    }


def test_without_ipv6_the_rest_stays(trees: Trees) -> None:
    got = read(SockstatCollector(), trees.tar("xeon-e7-480cpu"))
    assert got["network host used_sockets"] == 1147
    assert got["network host tcp_allocated_sockets"] == 16
