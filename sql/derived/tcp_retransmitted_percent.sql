-- Share of the TCP segments sent that were sent again (Linux counts these apart from the others).
-- Absent below 20 segments per second.
--
-- subsystem  network
-- grain      device
-- unit       %
-- inputs     network.tcp_tx_segments_per_s, network.tcp_retransmitted_segments_per_s
-- formula    100 * retransmitted / (tx + retransmitted)
CASE WHEN (tcp_tx_segments_per_s + tcp_retransmitted_segments_per_s) >= 20
  THEN 100 * tcp_retransmitted_segments_per_s / (tcp_tx_segments_per_s + tcp_retransmitted_segments_per_s)
END
