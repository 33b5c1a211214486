-- Memory that is neither free nor can be reclaimed at once, as a share of all memory.
--
-- subsystem  memory
-- grain      device
-- unit       %
-- inputs     memory.total_bytes, memory.available_bytes
-- formula    100 * (total - available) / total
100 * (total_bytes - available_bytes) / nullif(total_bytes, 0)
