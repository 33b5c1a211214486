-- Share of the look-ups in the last cache that a core can count (L3 on Intel and Arm, L2 on AMD) that missed.
-- Absent below 100,000 look-ups per second.
--
-- subsystem  cpu
-- grain      device
-- unit       %
-- inputs     cpu.cache_references_per_s, cpu.cache_misses_per_s
-- formula    100 * cache_misses / cache_references
CASE WHEN cache_references_per_s >= 1e5 THEN 100 * cache_misses_per_s / cache_references_per_s END
