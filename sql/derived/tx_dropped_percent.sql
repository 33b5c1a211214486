-- Share of the packets sent by an interface that were dropped. Absent below 100 packets per second.
--
-- subsystem  network
-- grain      device
-- unit       %
-- inputs     network.tx_packets_per_s, network.tx_dropped_packets_per_s
-- formula    100 * dropped / (packets + dropped)
CASE WHEN (tx_packets_per_s + tx_dropped_packets_per_s) >= 100
  THEN 100 * tx_dropped_packets_per_s / (tx_packets_per_s + tx_dropped_packets_per_s)
END
