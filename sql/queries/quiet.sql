-- Channels that have stopped, while others of their host go on.
--
-- inputs   samples, channels
-- binds    $start_ns, $end_ns: the time looked at; $patience_ns: so long a channel may be without a value
-- output   host, subsystem, device, metric; last: its newest value's time, nanoseconds; silent_ns: before its host's newest
-- grain    one row a channel, the longest silent first
--
-- Events are left out, which come when something happens.
WITH newest AS (
  SELECT channel_id, max(epoch_ns(ts)) AS last
  FROM samples
  WHERE ts >= make_timestamp_ns($start_ns) AND ts < make_timestamp_ns($end_ns)
  GROUP BY channel_id
),
placed AS (
  SELECT *, max(last) OVER (PARTITION BY host) - last AS silent_ns
  FROM newest JOIN channels USING (channel_id)
)
SELECT host, subsystem, device, metric, last, silent_ns
FROM placed
WHERE kind <> 'event' AND silent_ns > greatest($patience_ns, 3 * period_seconds * 1e9)
ORDER BY silent_ns DESC, host, subsystem, device, metric
