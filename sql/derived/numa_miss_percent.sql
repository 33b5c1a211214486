-- Share of a node's page allocations that another node was meant to serve. Absent below 100 pages per second.
--
-- subsystem  interconnect
-- grain      device
-- unit       %
-- inputs     memory.numa_hit_pages_per_s, interconnect.numa_miss_pages_per_s
-- devices    node[0-9]*
-- formula    100 * miss / (hit + miss)
CASE WHEN (numa_hit_pages_per_s + numa_miss_pages_per_s) >= 100
  THEN 100 * numa_miss_pages_per_s / (numa_hit_pages_per_s + numa_miss_pages_per_s)
END
