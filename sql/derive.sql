-- Computes derived metrics from panes of the channels that feed them.
--
-- inputs   panes: PANES; derived_inputs (channel_id, host, device, metric): the channels that feed any of them;
--          derived_outputs (metric_out, host, device, channel_id): those they make
-- binds    $pane_ns: length of a pane
-- output   PANES with n = 1, sorted by channel_id and pane
-- grain    one row a derived channel and pane for which the metric's file gives a finite value
--
-- Between the two parts stand a column for each input, and the expressions of sql/derived/*.sql.

-- name: inputs
WITH fed AS (
  SELECT
    pane, host, device,
    map_from_entries(list((metric, coalesce(wsum / nullif(dt, 0), "sum" / n)))) AS means
  FROM panes JOIN derived_inputs USING (channel_id)
  GROUP BY pane, host, device
),
inputs AS MATERIALIZED (
  SELECT pane, host, device,

-- name: outputs
SELECT
  pane,
  channel_id,
  1::INTEGER AS n,
  value AS "sum",
  0::DOUBLE AS m2,
  value::FLOAT AS "min",
  value::FLOAT AS "max",
  value::FLOAT AS "first",
  value::FLOAT AS "last",
  value * $pane_ns / 1e9 AS wsum,
  $pane_ns / 1e9 AS dt
FROM derived JOIN derived_outputs USING (metric_out, host, device)
WHERE isfinite(value) AND try_cast(value AS FLOAT) IS NOT NULL
ORDER BY channel_id, pane
