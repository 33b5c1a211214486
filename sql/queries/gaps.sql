-- Times without any tick of a host's agent.
--
-- inputs   samples, channels
-- binds    $start_ns, $end_ns: the time looked at; $least_ns: shorter ones are left out
-- output   host; began, length_ns: nanoseconds
-- grain    one row a gap, in order of time
WITH ticks AS (
  SELECT host, epoch_ns(ts) AS tick, lag(epoch_ns(ts)) OVER (PARTITION BY host ORDER BY ts) AS previous
  FROM samples JOIN channels USING (channel_id)
  WHERE ts >= make_timestamp_ns($start_ns) AND ts < make_timestamp_ns($end_ns)
    AND subsystem = 'agent' AND metric = 'tick_lateness_seconds'
)
SELECT host, previous AS began, tick - previous AS length_ns
FROM ticks
WHERE tick - previous >= $least_ns
ORDER BY began, host
