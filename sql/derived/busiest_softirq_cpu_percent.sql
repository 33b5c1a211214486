-- Share of all softirqs that the CPU with most of them takes. Absent below 100 softirqs per second.
--
-- subsystem  cpu
-- grain      host
-- unit       %
-- inputs     cpu.softirqs_per_s
-- devices    cpu[0-9]*
-- at_least   2
-- formula    100 * max(softirqs) / sum(softirqs) over CPUs
CASE WHEN count(softirqs_per_s) > 1 AND sum(softirqs_per_s) >= 100
  THEN 100 * max(softirqs_per_s) / sum(softirqs_per_s)
END
