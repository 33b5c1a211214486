-- Share of all interrupts that the most interrupted CPU takes. Absent below 100 interrupts per second.
--
-- subsystem  cpu
-- grain      host
-- unit       %
-- inputs     cpu.interrupts_per_s
-- devices    cpu*
-- at_least   2
-- formula    100 * max(interrupts) / sum(interrupts) over CPUs
SELECT pane, host, 'host' AS device, 100 * max(interrupts_per_s) / sum(interrupts_per_s) AS value
FROM inputs
GROUP BY pane, host
HAVING count(interrupts_per_s) > 1 AND sum(interrupts_per_s) >= 100
