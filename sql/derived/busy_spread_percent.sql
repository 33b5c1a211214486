-- How far the busiest CPU is above the average CPU, in points: work that does not spread over the CPUs.
--
-- subsystem  cpu
-- grain      host
-- unit       %
-- inputs     cpu.busy_percent
-- devices    cpu*
-- at_least   2
-- formula    max(busy) - avg(busy) over CPUs
SELECT pane, host, 'host' AS device, max(busy_percent) - avg(busy_percent) AS value
FROM inputs
GROUP BY pane, host
HAVING count(busy_percent) > 1
