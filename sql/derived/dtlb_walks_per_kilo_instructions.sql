-- Page tables walked for data, for each thousand instructions: huge pages bring it down.
-- Absent below 10 million instructions per second.
--
-- subsystem  cpu
-- grain      device
-- unit       1
-- inputs     cpu.instructions_per_s, cpu.dtlb_walks_per_s
-- formula    1000 * dtlb_walks / instructions
CASE WHEN instructions_per_s >= 1e7 THEN 1000 * dtlb_walks_per_s / instructions_per_s END
