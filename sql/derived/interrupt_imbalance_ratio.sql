-- How unevenly interrupts fall on the CPUs: their coefficient of variation, 0 when all CPUs take the same.
-- Absent below 100 interrupts per second, where chance alone decides.
--
-- subsystem  cpu
-- grain      host
-- unit       ratio
-- inputs     cpu.interrupts_per_s
-- devices    cpu*
-- at_least   2
-- formula    stddev(interrupts) / avg(interrupts) over CPUs
SELECT pane, host, 'host' AS device, stddev_pop(interrupts_per_s) / avg(interrupts_per_s) AS value
FROM inputs
GROUP BY pane, host
HAVING count(interrupts_per_s) > 1 AND sum(interrupts_per_s) >= 100
