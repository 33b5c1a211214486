-- How unevenly interrupts fall on the CPUs: their coefficient of variation, 0 when all CPUs take the same.
-- Absent below 100 interrupts per second, where chance decides.
--
-- subsystem  cpu
-- grain      host
-- unit       ratio
-- inputs     cpu.interrupts_per_s
-- devices    cpu[0-9]*
-- at_least   2
-- formula    stddev(interrupts) / avg(interrupts) over CPUs
CASE WHEN count(interrupts_per_s) > 1 AND sum(interrupts_per_s) >= 100
  THEN stddev_pop(interrupts_per_s) / avg(interrupts_per_s)
END
