-- Reduces samples to panes.
--
-- inputs   samples: SAMPLES (ts, channel_id, value, dt)
-- binds    $pane_ns: length of a pane
-- output   PANES, sorted by channel_id and pane
-- grain    one row a channel and pane that has at least one finite sample; panes start at multiples of $pane_ns
--          since the epoch
--
-- m2 is Welford's sum of squared deviations from the pane's mean, so large values keep their spread.
SELECT
  make_timestamp_ns((epoch_ns(ts) // $pane_ns) * $pane_ns) AS pane,
  channel_id,
  count(*)::INTEGER AS n,
  sum(value::DOUBLE) AS "sum",
  count(*) * var_pop(value::DOUBLE) AS m2,
  min(value) AS "min",
  max(value) AS "max",
  arg_min(value, ts) AS "first",
  arg_max(value, ts) AS "last",
  sum(value::DOUBLE * dt) AS wsum,
  sum(dt::DOUBLE) AS dt
FROM samples
WHERE isfinite(value) AND isfinite(dt)
GROUP BY channel_id, epoch_ns(ts) // $pane_ns
ORDER BY channel_id, pane
