-- Share of the branches that had been predicted wrongly. Absent below a million branches per second.
--
-- subsystem  cpu
-- grain      device
-- unit       %
-- inputs     cpu.branches_per_s, cpu.branch_misses_per_s
-- formula    100 * branch_misses / branches
CASE WHEN branches_per_s >= 1e6 THEN 100 * branch_misses_per_s / branches_per_s END
