-- Memory that waits to be written to storage, or is being written, as a share of all memory.
--
-- subsystem  memory
-- grain      device
-- unit       %
-- inputs     memory.total_bytes, memory.dirty_bytes, memory.writeback_bytes
-- formula    100 * (dirty + writeback) / total
100 * (dirty_bytes + writeback_bytes) / nullif(total_bytes, 0)
