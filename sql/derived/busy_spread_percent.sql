-- How far the busiest CPU is above the average CPU, in points: work that does not spread over the CPUs.
--
-- subsystem  cpu
-- grain      host
-- unit       %
-- inputs     cpu.busy_percent
-- devices    cpu[0-9]*
-- at_least   2
-- formula    max(busy) - avg(busy) over CPUs
CASE WHEN count(busy_percent) > 1
  THEN max(busy_percent) - avg(busy_percent)
END
