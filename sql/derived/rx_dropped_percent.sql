-- Share of the packets received by an interface that were dropped. Absent below 100 packets per second.
--
-- subsystem  network
-- grain      device
-- unit       %
-- inputs     network.rx_packets_per_s, network.rx_dropped_packets_per_s
-- formula    100 * dropped / (packets + dropped)
CASE WHEN (rx_packets_per_s + rx_dropped_packets_per_s) >= 100
  THEN 100 * rx_dropped_packets_per_s / (rx_packets_per_s + rx_dropped_packets_per_s)
END
