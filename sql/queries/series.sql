-- One channel over time, in evenly long steps.
--
-- inputs   features
-- binds    $channel_id; $start_ns, $end_ns: the time; $step_ns: length of a step
-- output   step: number of the step, from 0; low, mean, high: smallest, mean and largest value in it
-- grain    one row a step that has a window ending in it
SELECT
  (epoch_ns(window_end) - 1 - $start_ns) // $step_ns AS step,
  min("min")::DOUBLE AS low,
  avg(mean) AS mean,
  max("max")::DOUBLE AS high
FROM features
WHERE window_end > make_timestamp_ns($start_ns) AND window_end <= make_timestamp_ns($end_ns)
  AND channel_id = $channel_id
GROUP BY step
ORDER BY step
