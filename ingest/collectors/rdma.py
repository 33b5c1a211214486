"""Traffic and errors of RDMA ports (InfiniBand, RoCE, iWARP), from /sys/class/infiniband.

`port_xmit_data` and `port_rcv_data` count words of four octets. Such traffic passes by the kernel's network stack.
Documentation/ABI/stable/sysfs-class-infiniband. The device is `mlx5_0:1`: the adapter and its port.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from hostsight.errors import NoDataError
from ingest.collector import Host, Metric, Origin, Slot, Tier
from ingest.collectors.smallfiles import Parser, SmallFile, SmallFilesCollector, names_in, one_number
from ingest.collectors.sysclass import class_devices, class_folder, natural
from ingest.collectors.tables import LIVE
from ingest.collectors.words import number

_KIND = "infiniband"
_WORD = 4.0
_NOTHING = f"/sys/class/{_KIND} shows no port"
_RATE = re.compile(rb"\s*(\d+(?:\.\d+)?)\s*Gb/sec")
_STATE = re.compile(rb"\s*(\d+)\s*:")
_ACTIVE = 4.0
_FULL = 2**32 - 1


def _bytes(name: str, meaning: str) -> Metric:
    return Metric(f"{name}_bytes_per_s", "B/s", "rate", meaning, scale=_WORD)


def _packets(name: str, meaning: str) -> Metric:
    return Metric(f"{name}_packets_per_s", "packets/s", "rate", meaning)


def _errors(name: str, meaning: str) -> Metric:
    return Metric(f"{name}_per_s", "errors/s", "rate", meaning)


_TRAFFIC: dict[str, Metric] = {
    "counters/port_rcv_data": _bytes("rx", "data received, headers included"),
    "counters/port_xmit_data": _bytes("tx", "data sent, headers included"),
    "counters/port_rcv_packets": _packets("rx", "packets received"),
    "counters/port_xmit_packets": _packets("tx", "packets sent"),
    "counters/port_xmit_wait": Metric(
        "tx_wait_ticks_per_s",
        "1/s",
        "rate",
        "ticks of the port's clock in which it had data but no credit to send",
    ),
}
_OF_LINK: dict[str, Metric] = {
    "state": Metric("link_up", "1", "state", "1 where the port is active, 0 where it is not"),
    "rate": Metric("link_speed_bytes_per_s", "B/s", "gauge", "what the link can carry one way", scale=1 / 8),
}
_ERRORS: dict[str, Metric] = {
    "counters/multicast_rcv_packets": _packets("rx_multicast", "multicast packets received"),
    "counters/multicast_xmit_packets": _packets("tx_multicast", "multicast packets sent"),
    "counters/port_rcv_errors": _errors("rdma_rx_errors", "packets received with an error"),
    "counters/port_rcv_remote_physical_errors": _errors("rdma_rx_remote_errors", "packets marked bad by the sender's side"),
    "counters/port_rcv_switch_relay_errors": _errors("rdma_rx_relay_errors", "packets that a switch could not forward"),
    "counters/port_rcv_constraint_errors": _errors("rdma_rx_constraint_errors", "packets received and refused by partition rules"),
    "counters/port_xmit_constraint_errors": _errors("rdma_tx_constraint_errors", "packets not sent because of partition rules"),
    "counters/port_xmit_discards": _errors("rdma_tx_discards", "packets dropped since the port was down or congested"),
    "counters/port_rcv_discards": _errors("rdma_rx_discards", "packets received and dropped"),
    "counters/symbol_error": _errors("rdma_symbol_errors", "bit errors on the link's lanes"),
    "counters/link_downed": _errors("rdma_link_downs", "times the link went down"),
    "counters/link_error_recovery": _errors("rdma_link_recoveries", "times the link recovered from errors by training"),
    "counters/local_link_integrity_errors": _errors("rdma_link_integrity_errors", "times local errors passed the port's limit"),
    "counters/excessive_buffer_overrun_errors": _errors("rdma_buffer_overruns", "times the port's buffer overflowed"),
    "counters/VL15_dropped": _errors("rdma_management_drops", "management packets dropped for lack of buffers"),
    "hw_counters/out_of_buffer": _errors("rdma_out_of_buffer", "packets dropped since no receive was posted"),
    "hw_counters/out_of_sequence": _errors("rdma_out_of_sequence", "packets received out of order"),
    "hw_counters/packet_seq_err": _errors("rdma_sequence_naks", "retransmissions that the other side asked for"),
    "hw_counters/local_ack_timeout_err": _errors("rdma_ack_timeouts", "sends whose acknowledgement did not come in time"),
    "hw_counters/rnr_nak_retry_err": _errors("rdma_receiver_not_ready", "sends refused since the receiver was not ready"),
    "hw_counters/duplicate_request": _errors("rdma_duplicate_requests", "requests received that were there before"),
    "hw_counters/implied_nak_seq_err": _errors("rdma_implied_naks", "acknowledgements beyond a missing response"),
    "hw_counters/req_cqe_error": _errors("rdma_request_errors", "requests that completed with an error"),
    "hw_counters/resp_cqe_error": _errors("rdma_response_errors", "responses that completed with an error"),
    "hw_counters/req_cqe_flush_error": _errors("rdma_request_flushes", "requests flushed with their queue"),
    "hw_counters/resp_cqe_flush_error": _errors("rdma_response_flushes", "responses flushed with their queue"),
    "hw_counters/req_remote_access_errors": _errors("rdma_remote_access_errors", "requests that the other side refused access"),
    "hw_counters/resp_remote_access_errors": _errors("rdma_access_errors", "requests received and refused access"),
    "hw_counters/resp_local_length_error": _errors("rdma_length_errors", "messages too long for the receive"),
    "hw_counters/roce_adp_retrans": _errors("rdma_adaptive_retransmits", "adaptive retransmissions on RoCE"),
    "hw_counters/roce_adp_retrans_to": _errors("rdma_adaptive_retransmit_timeouts", "timeouts of adaptive retransmission"),
    "hw_counters/roce_slow_restart": _errors("rdma_slow_restarts", "slow restarts on RoCE"),
    "hw_counters/np_cnp_sent": _packets("tx_congestion_notifications", "congestion notifications sent, as the receiver of marked packets"),
    "hw_counters/rp_cnp_handled": _packets("rx_congestion_notifications", "congestion notifications received and obeyed"),
    "hw_counters/rp_cnp_ignored": _packets("ignored_congestion_notifications", "congestion notifications received and ignored"),
    "hw_counters/np_ecn_marked_roce_packets": _packets("rx_ecn_marked", "packets received that a switch marked as congested"),
    "hw_counters/rx_icrc_encapsulated": _errors("rdma_checksum_errors", "packets on RoCE with a wrong checksum"),
    "hw_counters/rx_read_requests": Metric("rdma_read_requests_per_s", "requests/s", "rate", "reads that others asked for"),
    "hw_counters/rx_write_requests": Metric("rdma_write_requests_per_s", "requests/s", "rate", "writes that others asked for"),
    "hw_counters/rx_atomic_requests": Metric("rdma_atomic_requests_per_s", "requests/s", "rate", "atomic operations that others asked for"),
}  # fmt: skip


class _PortCollector(SmallFilesCollector):
    nothing: ClassVar[str] = _NOTHING
    wanted: ClassVar[Mapping[str, Metric]]

    def open(self, host: Host) -> Sequence[Slot]:
        try:
            return super().open(host)
        except NoDataError as error:
            if error.reason == "no such device" and any(_ports(host)):
                what = f"no port of /sys/class/{_KIND} shows what {self.name} reads"
                raise NoDataError(what, "not supported") from error
            raise

    def files(self, host: Host) -> Iterator[SmallFile]:
        for device, folder in _ports(host):
            source = f"/{folder.relative_to(host.root)}"
            for file, metric in self.wanted.items():
                slot = Slot("network", device, metric, LIVE, f"{source}/{file}")
                yield SmallFile(folder / file, (slot,), _PARSERS.get(file, one_number))

    def folders(self, host: Host) -> Sequence[Path]:
        return [class_folder(host, _KIND)]


def _ports(host: Host) -> Iterator[tuple[str, Path]]:
    """`mlx5_0:1` and the folder of each port."""
    for adapter in class_devices(host, _KIND):
        for port in sorted(filter(str.isdecimal, names_in(adapter / "ports")), key=natural):
            yield f"{adapter.name}:{port}", adapter / "ports" / port


class RdmaCollector(_PortCollector):
    """Traffic and link, each second."""

    name: ClassVar[str] = "rdma"
    origin: ClassVar[Origin] = Origin("/sys/class/infiniband/*/ports/*/counters", 0.001, "an RDMA adapter")
    wanted: ClassVar[Mapping[str, Metric]] = _TRAFFIC | _OF_LINK
    metrics: ClassVar[tuple[Metric, ...]] = tuple(wanted.values())


class RdmaErrorsCollector(_PortCollector):
    """Errors and the hardware's own counters; each one may cost a command to the adapter."""

    name: ClassVar[str] = "rdma_errors"
    origin: ClassVar[Origin] = Origin(
        "/sys/class/infiniband/*/ports/*/counters and hw_counters", 0.001, "an RDMA adapter"
    )
    tier: ClassVar[Tier] = Tier.SLOW
    wanted: ClassVar[Mapping[str, Metric]] = _ERRORS
    metrics: ClassVar[tuple[Metric, ...]] = tuple(_ERRORS.values())


def bits_per_second(content: bytes) -> tuple[float]:
    """`400 Gb/sec (4X NDR)`."""
    found = _RATE.match(content)
    return (number(found[1]) * 1e9 if found else math.nan,)


def is_active(content: bytes) -> tuple[float]:
    """`4: ACTIVE`."""
    found = _STATE.match(content)
    return (float(number(found[1]) == _ACTIVE) if found else math.nan,)


def not_full(content: bytes) -> tuple[float]:
    """A count, absent where an old adapter's counter of 32 bits is full: it counts no further."""
    (count,) = one_number(content)
    return (math.nan if count == _FULL else count,)


_PARSERS: dict[str, Parser] = {
    "state": is_active,
    "rate": bits_per_second,
    **dict.fromkeys(_TRAFFIC, not_full),
}
