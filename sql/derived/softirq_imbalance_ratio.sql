-- How unevenly softirqs fall on the CPUs: their coefficient of variation, 0 when all CPUs take the same.
-- Absent below 100 softirqs per second, where chance decides.
--
-- subsystem  cpu
-- grain      host
-- unit       ratio
-- inputs     cpu.softirqs_per_s
-- devices    cpu[0-9]*
-- at_least   2
-- formula    stddev(softirqs) / avg(softirqs) over CPUs
CASE WHEN count(softirqs_per_s) > 1 AND sum(softirqs_per_s) >= 100
  THEN stddev_pop(softirqs_per_s) / avg(softirqs_per_s)
END
