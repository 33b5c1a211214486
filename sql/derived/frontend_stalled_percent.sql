-- Share of the cycles in which the CPU had no instruction to work on: instruction cache, branch prediction, decoding.
-- Absent below 10 million cycles per second.
--
-- subsystem  cpu
-- grain      device
-- unit       %
-- inputs     cpu.cycles_per_s, cpu.frontend_stalled_cycles_per_s
-- formula    100 * frontend_stalled_cycles / cycles
CASE WHEN cycles_per_s >= 1e7 THEN 100 * frontend_stalled_cycles_per_s / cycles_per_s END
