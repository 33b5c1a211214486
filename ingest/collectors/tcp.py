"""TCP, UDP, IP and ICMP, from /proc/net/snmp, netstat and snmp6; RFC 1213, RFC 4022, net/ipv4/proc.c.

/proc/net names the reader's own network namespace: run in a container, it shows that container's traffic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ingest.collector import Host, Metric, Origin, Tier
from ingest.collectors.tables import Field, Source, TableCollector
from ingest.collectors.wordtable import FLAT, HEADED


def _rate(unit: str, key: bytes, name: str, meaning: str) -> Field:
    return Field(key, "network", Metric(f"{name}_per_s", f"{unit}/s", "rate", meaning))


def _packets(key: bytes, name: str, meaning: str) -> Field:
    return _rate("packets", key, f"{name}_packets", meaning)


def _segments(key: bytes, name: str, meaning: str) -> Field:
    return _rate("segments", key, f"{name}_segments", meaning)


def _events(key: bytes, name: str, meaning: str) -> Field:
    return _rate("events", key, name, meaning)


def _drops(key: bytes, name: str, meaning: str) -> Field:
    return _rate("drops", key, f"{name}_packets", meaning)


def _errors(key: bytes, name: str, meaning: str) -> Field:
    return _rate("errors", key, name, meaning)


def _retransmits(key: bytes, name: str, meaning: str) -> Field:
    return _rate("retransmits", key, name, meaning)


def _bytes(key: bytes, name: str, meaning: str) -> Field:
    return _rate("B", key, f"{name}_bytes", meaning)


_ESTABLISHED = Metric("tcp_established_connections", "connections", "gauge", "TCP connections that are open")

_SNMP = (
    _packets(b"Ip.InReceives", "ip_rx", "IPv4 packets received"),
    _packets(b"Ip.InDelivers", "ip_rx_delivered", "IPv4 packets handed to TCP, UDP and others"),
    _packets(b"Ip.OutRequests", "ip_tx", "IPv4 packets that this host sent"),
    _packets(b"Ip.ForwDatagrams", "ip_forwarded", "IPv4 packets forwarded"),
    _drops(b"Ip.InDiscards", "ip_rx_discarded", "good IPv4 packets dropped, for want of memory for example"),
    _drops(b"Ip.OutDiscards", "ip_tx_discarded", "IPv4 packets that could not be sent, for want of memory"),
    _errors(b"Ip.InHdrErrors", "ip_rx_header_error_packets", "IPv4 packets with a bad header"),
    _errors(
        b"Ip.InAddrErrors", "ip_rx_address_error_packets", "IPv4 packets for an address that is not here"
    ),
    _drops(b"Ip.OutNoRoutes", "ip_tx_no_route", "IPv4 packets dropped for want of a route"),
    _packets(b"Ip.ReasmReqds", "ip_fragment", "IPv4 fragments received"),
    _errors(b"Ip.ReasmFails", "ip_reassembly_failed_packets", "IPv4 reassemblies that failed"),
    _packets(b"Ip.FragCreates", "ip_fragment_tx", "IPv4 fragments made"),
    _packets(b"Icmp.InMsgs", "icmp_rx", "ICMP messages received"),
    _packets(b"Icmp.OutMsgs", "icmp_tx", "ICMP messages sent"),
    _packets(b"Icmp.InDestUnreachs", "icmp_rx_unreachable", "ICMP unreachable messages received"),
    _events(b"Tcp.ActiveOpens", "tcp_active_opens", "connections opened from here"),
    _events(b"Tcp.PassiveOpens", "tcp_passive_opens", "connections accepted here"),
    _events(b"Tcp.AttemptFails", "tcp_failed_attempts", "connections that could not be opened"),
    _events(b"Tcp.EstabResets", "tcp_established_resets", "open connections that were reset"),
    Field(b"Tcp.CurrEstab", "network", _ESTABLISHED),
    _segments(b"Tcp.InSegs", "tcp_rx", "TCP segments received"),
    _segments(b"Tcp.OutSegs", "tcp_tx", "TCP segments sent, retransmissions left out"),
    _retransmits(b"Tcp.RetransSegs", "tcp_retransmitted_segments", "TCP segments sent again"),
    _errors(b"Tcp.InErrs", "tcp_rx_error_segments", "bad TCP segments received"),
    _segments(b"Tcp.OutRsts", "tcp_reset_tx", "TCP resets sent"),
    _errors(b"Tcp.InCsumErrors", "tcp_checksum_error_segments", "TCP segments with a bad checksum"),
    _packets(b"Udp.InDatagrams", "udp_rx", "UDP datagrams delivered"),
    _packets(b"Udp.OutDatagrams", "udp_tx", "UDP datagrams sent"),
    _packets(b"Udp.NoPorts", "udp_no_port", "UDP datagrams for a port that nobody listens on"),
    _drops(b"Udp.InErrors", "udp_rx_error", "UDP datagrams that could not be delivered"),
    _drops(
        b"Udp.RcvbufErrors", "udp_rx_buffer_error", "UDP datagrams dropped as the receive buffer was full"
    ),
    _drops(b"Udp.SndbufErrors", "udp_tx_buffer_error", "UDP datagrams dropped as the send buffer was full"),
    _errors(b"Udp.InCsumErrors", "udp_checksum_error_packets", "UDP datagrams with a bad checksum"),
)
_NETSTAT = (
    _errors(b"TcpExt.SyncookiesSent", "tcp_syn_cookies", "SYN cookies sent: the backlog overflowed"),
    _events(b"TcpExt.EmbryonicRsts", "tcp_embryonic_resets", "resets of half-open connections"),
    _events(b"TcpExt.PruneCalled", "tcp_prunes", "receive queues squeezed as their buffer was full"),
    _drops(b"TcpExt.RcvPruned", "tcp_rx_pruned", "packets dropped from a receive queue that was full"),
    _drops(b"TcpExt.OfoPruned", "tcp_out_of_order_pruned", "packets dropped from an out-of-order queue"),
    _events(b"TcpExt.TW", "tcp_time_waits", "connections that went to TIME-WAIT"),
    _events(b"TcpExt.DelayedACKs", "tcp_delayed_acks", "acknowledgements sent late on purpose"),
    _errors(
        b"TcpExt.ListenOverflows", "tcp_listen_overflows", "connections refused as the accept queue was full"
    ),
    _errors(b"TcpExt.ListenDrops", "tcp_listen_drops", "connection requests dropped by listening sockets"),
    _retransmits(b"TcpExt.TCPLostRetransmit", "tcp_lost_retransmits", "retransmissions that were lost too"),
    _retransmits(
        b"TcpExt.TCPFastRetrans", "tcp_fast_retransmitted_segments", "segments sent again without a timeout"
    ),
    _retransmits(
        b"TcpExt.TCPSlowStartRetrans",
        "tcp_slow_start_retransmitted_segments",
        "segments sent again in slow start",
    ),
    _retransmits(b"TcpExt.TCPTimeouts", "tcp_timeouts", "retransmission timeouts"),
    _events(b"TcpExt.TCPLossProbes", "tcp_loss_probes", "tail loss probes sent"),
    _events(b"TcpExt.TCPSpuriousRTOs", "tcp_spurious_timeouts", "timeouts that proved needless"),
    _events(b"TcpExt.TCPSackRecovery", "tcp_sack_recoveries", "losses repaired by selective acknowledgement"),
    _events(b"TcpExt.TCPSACKReorder", "tcp_reorderings", "reorderings seen by selective acknowledgement"),
    _events(b"TcpExt.TCPDSACKRecv", "tcp_duplicates_reported", "duplicates that the other side reported"),
    _segments(b"TcpExt.TCPOFOQueue", "tcp_out_of_order", "segments that came out of order"),
    _drops(b"TcpExt.TCPBacklogDrop", "tcp_backlog_dropped", "packets dropped as a socket's backlog was full"),
    _drops(b"TcpExt.TCPRcvQDrop", "tcp_rx_queue_dropped", "packets dropped as a receive queue was full"),
    _drops(b"TcpExt.TCPZeroWindowDrop", "tcp_zero_window_dropped", "packets dropped at a closed window"),
    _events(b"TcpExt.TCPToZeroWindowAdv", "tcp_zero_window_advertisements", "receive windows closed"),
    _errors(b"TcpExt.TCPAbortOnMemory", "tcp_memory_aborts", "connections closed for want of memory"),
    _errors(b"TcpExt.TCPAbortOnTimeout", "tcp_timeout_aborts", "connections closed after too many timeouts"),
    _errors(b"TcpExt.TCPMemoryPressures", "tcp_memory_pressures", "times that TCP ran short of memory"),
    _errors(b"TcpExt.TCPRetransFail", "tcp_retransmit_failures", "retransmissions that could not be sent"),
    _retransmits(b"TcpExt.TCPSynRetrans", "tcp_syn_retransmits", "SYNs sent again"),
    _segments(b"TcpExt.TCPOrigDataSent", "tcp_data_tx", "segments sent with new data"),
    _segments(b"TcpExt.TCPDelivered", "tcp_delivered", "segments that the other side acknowledged"),
    _segments(
        b"TcpExt.TCPDeliveredCE", "tcp_congestion_marked", "acknowledged segments with a congestion mark"
    ),
    _bytes(b"IpExt.InOctets", "ip_rx", "bytes in IPv4 packets received"),
    _bytes(b"IpExt.OutOctets", "ip_tx", "bytes in IPv4 packets sent"),
    _packets(b"IpExt.InCEPkts", "ip_rx_congestion_marked", "IPv4 packets that a switch marked as congested"),
    _drops(b"IpExt.InNoRoutes", "ip_rx_no_route", "IPv4 packets dropped on arrival for want of a route"),
    _errors(b"IpExt.InTruncatedPkts", "ip_rx_truncated_packets", "IPv4 packets that were cut short"),
)
_SNMP6 = (
    _packets(b"Ip6InReceives", "ip6_rx", "IPv6 packets received"),
    _packets(b"Ip6OutRequests", "ip6_tx", "IPv6 packets that this host sent"),
    _bytes(b"Ip6InOctets", "ip6_rx", "bytes in IPv6 packets received"),
    _bytes(b"Ip6OutOctets", "ip6_tx", "bytes in IPv6 packets sent"),
    _drops(b"Ip6InDiscards", "ip6_rx_discarded", "good IPv6 packets dropped"),
    _drops(b"Ip6OutDiscards", "ip6_tx_discarded", "IPv6 packets that could not be sent"),
    _packets(b"Ip6InCEPkts", "ip6_rx_congestion_marked", "IPv6 packets that a switch marked as congested"),
    _packets(b"Udp6InDatagrams", "udp6_rx", "UDP datagrams over IPv6 delivered"),
    _packets(b"Udp6OutDatagrams", "udp6_tx", "UDP datagrams over IPv6 sent"),
    _drops(b"Udp6InErrors", "udp6_rx_error", "UDP datagrams over IPv6 that could not be delivered"),
    _drops(b"Udp6RcvbufErrors", "udp6_rx_buffer_error", "UDP datagrams over IPv6 dropped at a full buffer"),
)


class TcpCollector(TableCollector):
    name: ClassVar[str] = "tcp"
    origin: ClassVar[Origin] = Origin("/proc/net/snmp, /proc/net/netstat, /proc/net/snmp6", 0.001)
    tier: ClassVar[Tier] = Tier.FAST
    metrics: ClassVar[tuple[Metric, ...]] = tuple(field.metric for field in (*_SNMP, *_NETSTAT, *_SNMP6))

    def sources(self, host: Host) -> Sequence[Source]:
        return [
            Source("/proc/net/snmp", HEADED, _SNMP),
            Source("/proc/net/netstat", HEADED, _NETSTAT),
            Source("/proc/net/snmp6", FLAT, _SNMP6, remedy="modprobe ipv6"),
        ]
