-- The figure that stands for each subsystem of each host, over time, in evenly long steps.
--
-- inputs   features, channels
-- binds    $start_ns, $end_ns: the time; $step_ns: length of a step
-- output   host; place: order in which they are shown; subsystem, label, unit; step: number of the step, from 0; value
-- grain    one row a host, subsystem and step that has a window ending in it
--
-- Devices are added up; those that are made of others (bonds, bridges, VLANs, tunnels, md, device mapper) would count twice.
-- A percentage is of a whole: what two clocks make of it above 100 is not shown.
WITH headlines (place, subsystem, metric, label, unit) AS (
  VALUES
    (1, 'cpu', 'busy_percent', 'busy', '%'),
    (2, 'memory', 'used_percent', 'used', '%'),
    (3, 'network', 'rx_bytes_per_s', 'traffic', 'B/s'),
    (3, 'network', 'tx_bytes_per_s', 'traffic', 'B/s'),
    (4, 'storage', 'read_bytes_per_s', 'throughput', 'B/s'),
    (4, 'storage', 'write_bytes_per_s', 'throughput', 'B/s'),
    (5, 'interconnect', 'numa_other_node_pages_per_s', 'from remote', 'pages/s'),
    (6, 'agent', 'cpu_percent', 'own CPU', '%')
),
shown AS (
  SELECT channel_id, host, place, headlines.subsystem, label, headlines.unit
  FROM channels JOIN headlines USING (subsystem, metric)
  WHERE (subsystem NOT IN ('cpu', 'memory', 'agent') OR device = 'host')
    AND NOT regexp_matches(
      device,
      '^(lo$|bond|team|br|docker|cni|ovs|veth|virbr|vlan|macvlan|ipvlan|vxlan|geneve|flannel|cilium|tun|wg|md|dm-|loop|zram)'
    )
    AND NOT (headlines.subsystem = 'network' AND regexp_matches(device, '[.][0-9]+$'))
),
totals AS (
  SELECT host, place, subsystem, label, unit, window_end, sum(mean::DOUBLE) AS total
  FROM features JOIN shown USING (channel_id)
  WHERE window_end > make_timestamp_ns($start_ns) AND window_end <= make_timestamp_ns($end_ns)
  GROUP BY ALL
)
SELECT
  host, place, subsystem, label, unit,
  (epoch_ns(window_end) - 1 - $start_ns) // $step_ns AS step,
  if(unit = '%', least(avg(total), 100), avg(total)) AS value
FROM totals
GROUP BY host, place, subsystem, label, unit, step
ORDER BY host, place, step
