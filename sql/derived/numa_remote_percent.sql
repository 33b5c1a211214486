-- Share of a node's page allocations that were made for tasks on another node. Absent below 100 pages per second.
--
-- subsystem  interconnect
-- grain      device
-- unit       %
-- inputs     memory.numa_local_pages_per_s, interconnect.numa_other_node_pages_per_s
-- devices    node[0-9]*
-- formula    100 * other_node / (local + other_node)
CASE WHEN (numa_local_pages_per_s + numa_other_node_pages_per_s) >= 100
  THEN 100 * numa_other_node_pages_per_s / (numa_local_pages_per_s + numa_other_node_pages_per_s)
END
