-- How near dirty memory is to the limit at which the kernel holds writers back.
--
-- subsystem  memory
-- grain      device
-- unit       %
-- inputs     memory.dirty_bytes, memory.writeback_bytes, memory.dirty_limit_bytes
-- formula    100 * (dirty + writeback) / dirty_limit
100 * (dirty_bytes + writeback_bytes) / nullif(dirty_limit_bytes, 0)
