-- Instructions per cycle: how much work the CPU does with each of its cycles. It falls where memory or locks hold it up.
-- Absent below 10 million cycles per second, where the CPU is all but idle.
--
-- subsystem  cpu
-- grain      device
-- unit       ratio
-- inputs     cpu.instructions_per_s, cpu.cycles_per_s
-- formula    instructions / cycles
CASE WHEN cycles_per_s >= 1e7 THEN instructions_per_s / cycles_per_s END
