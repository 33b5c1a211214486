-- Share of the network's receive softirqs that one CPU takes: near 100, one CPU limits what the host can receive.
-- Absent below 100 per second.
--
-- subsystem  cpu
-- grain      host
-- unit       %
-- inputs     cpu.net_rx_softirqs_per_s
-- devices    cpu[0-9]*
-- at_least   2
-- formula    100 * max(net_rx) / sum(net_rx) over CPUs
CASE WHEN count(net_rx_softirqs_per_s) > 1 AND sum(net_rx_softirqs_per_s) >= 100
  THEN 100 * max(net_rx_softirqs_per_s) / sum(net_rx_softirqs_per_s)
END
