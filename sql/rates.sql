-- Turns readings of gauges and growing counters into samples.
--
-- inputs   readings (ts, channel_id, series, value, counter): as ingest.influx.telegraf has them
-- binds    $start_ns: samples before it are left out; they only tell what counters grow from
--          $period_ns: time between two readings; $gap_ns: longer than this is a gap
-- output   SAMPLES, sorted by channel_id and ts
-- grain    one row a channel and time
--
-- A counter's value is its growth over the time since the reading before, in units per second. It is absent for the first
-- reading, where the counter fell (it began anew: nobody knows how far it had come) and after a gap. Counters of one
-- channel are added up; where several gauges say the same, it is their mean.
WITH steps AS (
  SELECT
    ts, channel_id, value, counter,
    value - lag(value) OVER before AS growth,
    epoch_ns(ts) - epoch_ns(lag(ts) OVER before) AS elapsed_ns
  FROM readings
  WINDOW before AS (PARTITION BY channel_id, series ORDER BY ts)
),
rated AS (
  SELECT
    ts, channel_id,
    CASE WHEN counter THEN growth / (elapsed_ns / 1e9) ELSE value END AS value,
    counter,
    CASE WHEN counter THEN elapsed_ns ELSE $period_ns END AS length_ns
  FROM steps
  WHERE epoch_ns(ts) >= $start_ns
    AND (NOT counter OR (growth >= 0 AND elapsed_ns > 0 AND elapsed_ns <= $gap_ns))
),
joined AS (
  SELECT
    ts, channel_id,
    try_cast(CASE WHEN bool_or(counter) THEN sum(value) ELSE avg(value) END AS FLOAT) AS value,
    (max(length_ns) / 1e9)::FLOAT AS dt
  FROM rated
  GROUP BY channel_id, ts
)
SELECT * FROM joined WHERE isfinite(value) ORDER BY channel_id, ts
