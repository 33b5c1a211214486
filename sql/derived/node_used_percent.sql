-- Used memory of a NUMA node, page cache included, as a share of the node's memory.
--
-- subsystem  memory
-- grain      device
-- unit       %
-- inputs     memory.total_bytes, memory.used_bytes
-- devices    node[0-9]*
-- formula    100 * used / total
100 * used_bytes / nullif(total_bytes, 0)
