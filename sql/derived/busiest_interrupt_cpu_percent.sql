-- Share of all interrupts that the CPU with most of them takes. Absent below 100 interrupts per second.
--
-- subsystem  cpu
-- grain      host
-- unit       %
-- inputs     cpu.interrupts_per_s
-- devices    cpu[0-9]*
-- at_least   2
-- formula    100 * max(interrupts) / sum(interrupts) over CPUs
CASE WHEN count(interrupts_per_s) > 1 AND sum(interrupts_per_s) >= 100
  THEN 100 * max(interrupts_per_s) / sum(interrupts_per_s)
END
