"""What network drivers call the few of their statistics that matter, and what each means to us.

Drivers name their statistics as they like, by queue or by port. For each metric the first pattern that a driver's
names match counts, and all names that match it are added up: a total and its parts are never mixed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ingest.collector import Metric

_QUEUE = r"(?:rx|tx)?[_-]?(?:queue|ring|q)?[_-]?\d+[_.-]?"
"""`rx_queue_0_`, `rx3_`, `rx-0.`, `[0]: ` without its brackets."""


def _packets(name: str, meaning: str) -> Metric:
    return Metric(f"{name}_packets_per_s", "packets/s", "rate", meaning)


def _errors(name: str, meaning: str) -> Metric:
    return Metric(f"{name}_per_s", "errors/s", "rate", meaning)


MISSED = Metric(
    "nic_rx_missed_packets_per_s",
    "drops/s",
    "rate",
    "packets dropped since the host had no buffer ready for them",
)
FIFO = Metric(
    "nic_rx_fifo_packets_per_s", "drops/s", "rate", "packets dropped since the adapter's own buffer was full"
)
TX_DISCARDS = Metric(
    "nic_tx_discarded_packets_per_s", "drops/s", "rate", "packets that the adapter dropped instead of sending"
)
RX_PAUSE = _packets("nic_rx_pause", "pause frames received: the other side asks to slow down")
TX_PAUSE = _packets("nic_tx_pause", "pause frames sent: this side cannot keep up")
CRC = _errors("nic_rx_crc_errors", "packets with a wrong checksum: a bad cable, plug or optic")
SYMBOL = _errors("nic_rx_symbol_errors", "symbols that make no sense on the link")
LENGTH = _errors("nic_rx_length_errors", "packets too short or too long")
FEC = _errors("nic_fec_uncorrectable_errors", "blocks that error correction could not mend")
BUFFERS = _errors("nic_buffer_allocation_failures", "buffers for packets that could not be had")
TIMEOUTS = _errors("nic_tx_timeouts", "times that sending got stuck and was started anew")
STOPS = Metric(
    "nic_tx_queue_stops_per_s", "stalls/s", "rate", "times that a queue for sending was full and was stopped"
)
LINK_DOWNS = _errors("nic_link_downs", "times that the link went down")
SHAPED = Metric(
    "nic_shaped_packets_per_s",
    "drops/s",
    "rate",
    "packets queued or dropped by the limits of a cloud instance",
)

_PATTERNS: tuple[tuple[Metric, tuple[str, ...]], ...] = (
    (MISSED, (
        r"rx_out_of_buffer",                                   # mlx5
        r"rx_missed_errors|rx_missed",                         # e1000e, igb, igc, mlx4, r8169
        r"rx_no_dma_resources",                                # ixgbe
        r"rx_discards",                                         # tg3, bnx2x
        r"(?:port_)?rx_nodesc_drop(?:s|_cnt)",                 # sfc
        r"no_buff_discards",                                   # qede
        r"rx_total_ring_discards",                              # bnxt_en
        r"\[\d+\]: rx_discards?",                               # bnxt_en before Linux 5.19
        rf"{_QUEUE}drops?",                                    # virtio_net
        r" *pkts rx OOB",                                      # vmxnet3
        r"rx_no_buffer_count",
        r"rx_dropped",                                          # ice, and i40e of older kernels, by virtual port
    )),
    (FIFO, (
        r"rx_discards_phy",                                    # mlx5
        r"rx_fifo_errors",                                     # ixgbe, mlx4, igb
        r"port\.rx_discards|port\.rx_dropped",                 # i40e, and its name in older kernels
        r"rx_dropped\.nic",                                    # ice
        r"port_rx_overflow",                                   # sfc
        r"brb_discards|rx_brb_discards?|\[\d+\]: rx_brb_discard|rx_buf_full|rx_over_errors",
    )),
    (TX_DISCARDS, (
        r"tx_discards_phy",
        r"port\.tx_dropped_link_down|tx_dropped_link_down\.nic",
        r"tx_total_ring_discards", r"\[\d+\]: tx_discards?",
        r"tx_dropped|port\.tx_dropped",
        rf"{_QUEUE}tx_drops?|tx_queue_\d+_drops?",
    )),
    (RX_PAUSE, (
        r"rx_pause_ctrl_phy", r"port\.link_xoff_rx", r"link_xoff_rx\.nic", r"rx_flow_control_xoff",
        r"rx_pause_frames", r"port_rx_pause", r"rx_xoff_(?:events|pause_rcvd)|rx_pause",
    )),
    (TX_PAUSE, (
        r"tx_pause_ctrl_phy", r"port\.link_xoff_tx", r"link_xoff_tx\.nic", r"tx_flow_control_xoff",
        r"tx_pause_frames", r"port_tx_pause", r"tx_xoff_(?:sent|events)|tx_pause",
    )),
    (CRC, (
        r"rx_crc_errors_phy", r"port\.rx_crc_errors", r"rx_crc_errors\.nic", r"rx_crc_errors|rx_crc_error",
        r"rx_fcs_err_frames|rx_fcs_errors", r"port_rx_bad", r"rx_align_errors",
    )),
    (SYMBOL, (r"rx_symbol_err_phy", r"rx_pcs_symbol_err_phy", r"port\.illegal_bytes|illegal_bytes\.nic",
              r"rx_symbol_err(?:ors?)?")),
    (LENGTH, (
        r"rx_in_range_len_errors_phy|rx_out_of_range_len_phy|rx_oversize_pkts_phy|rx_undersize_pkts_phy",
        r"port\.rx_(?:length_errors|undersize|oversize)", r"rx_(?:undersize|oversize|length_errors)\.nic",
        r"rx_(?:long_|short_)?length_errors", r"rx_(?:undersize|oversize)(?:_frames|_packets)?",
    )),
    (FEC, (r"rx_fec_uncorrectable_(?:blocks|errors).*|rx_pcs_fec_uncorrectable.*", r"fec_uncorrectable.*")),
    (BUFFERS, (
        r"rx_buff_alloc_err", r"port\.rx_alloc_fail|rx_alloc_fail", r"alloc_rx_(?:page|buff)_failed",
        r"(?:rx-)?(?:queue_)?\d+[_.](?:rx_)?(?:page_alloc_fail|skb_alloc_fail)", r"rx_alloc_fail(?:ed)?",
    )),
    (TIMEOUTS, (
        r"tx_timeout", r"port\.tx_timeout|tx_timeout\.nic", r"tx_timeout_count", rf"{_QUEUE}tx_timeouts?", r"wd_expired",
    )),
    (STOPS, (r"tx_queue_stopped", r"queue_stopped", r"tx_restart_queue|tx_restart", rf"{_QUEUE}(?:tx_)?queue_stops?",
             r"ring_full_error", r"  ring full")),
    (LINK_DOWNS, (r"link_down_events_phy", r"link_down_events|link_flaps?")),
    (SHAPED, (r"(?:bw_in|bw_out|pps|conntrack|linklocal)_allowance_exceeded",)),
)  # fmt: skip

METRICS: tuple[Metric, ...] = tuple(metric for metric, _ in _PATTERNS)
_COMPILED = tuple(
    (metric, tuple(re.compile(pattern) for pattern in patterns)) for metric, patterns in _PATTERNS
)

_DRIVERS: Mapping[str, Mapping[str, str]] = {
    "ixgbe": {"rx_missed_errors": FIFO.name},
    "igb": {"rx_no_buffer_count": MISSED.name, "rx_missed_errors": FIFO.name},
    "e1000e": {"rx_no_buffer_count": MISSED.name, "rx_missed_errors": FIFO.name},
}
"""Driver -> name -> the metric it means there, whatever the patterns say."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A metric and the positions of the statistics that add up to it."""

    metric: Metric
    places: tuple[int, ...]


def chosen(driver: str, names: Sequence[str]) -> list[Chosen]:
    """The metrics that a driver's statistics give, in the order of METRICS."""
    fixed = _DRIVERS.get(driver, {})
    free = [(at, name) for at, name in enumerate(names) if name not in fixed]
    found = []
    for metric, patterns in _COMPILED:
        places = [at for at, name in enumerate(names) if fixed.get(name) == metric.name]
        for pattern in patterns:
            places = places or [at for at, name in free if pattern.fullmatch(name)]
        if places:
            found.append(Chosen(metric, tuple(places)))
    return found
