-- Share of the faults that automatic NUMA balancing provokes whose page was on the task's own node.
-- Absent below 100 faults per second.
--
-- subsystem  memory
-- grain      device
-- unit       %
-- inputs     memory.numa_hint_faults_per_s, memory.numa_hint_faults_local_per_s
-- formula    100 * local / all
CASE WHEN numa_hint_faults_per_s >= 100
  THEN 100 * numa_hint_faults_local_per_s / numa_hint_faults_per_s
END
