-- Used swap as a share of all swap. Absent on a host without swap.
--
-- subsystem  memory
-- grain      device
-- unit       %
-- inputs     memory.swap_total_bytes, memory.swap_free_bytes
-- formula    100 * (swap_total - swap_free) / swap_total
100 * (swap_total_bytes - swap_free_bytes) / nullif(swap_total_bytes, 0)
