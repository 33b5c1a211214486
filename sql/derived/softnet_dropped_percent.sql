-- Share of the packets that a CPU, or the host, dropped because its backlog was full. Absent below 100 per second.
--
-- subsystem  network
-- grain      device
-- unit       %
-- inputs     network.softnet_processed_packets_per_s, network.softnet_dropped_packets_per_s
-- formula    100 * dropped / (processed + dropped)
CASE WHEN (softnet_processed_packets_per_s + softnet_dropped_packets_per_s) >= 100
  THEN 100 * softnet_dropped_packets_per_s / (softnet_processed_packets_per_s + softnet_dropped_packets_per_s)
END
