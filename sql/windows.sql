-- Combines panes into windows and takes their statistics.
--
-- inputs   panes: PANES
-- binds    $pane_ns: length of a pane; $length, $stride: of windows, in panes;
--          $first_end, $last_end: the windows wanted, by their end in strides since the epoch, both included
-- output   FEATURES, sorted by channel_id and window_end
-- grain    one row a channel and window that has at least one sample
--
-- A window that ends at e holds the panes that start in [e - length, e), whichever of them exist.
-- mean     sum(value * dt) / sum(dt)
-- std      of the population: Chan's combination of the panes' m2
-- slope    least squares through the panes' means, units per second; null where only one pane has samples
--
-- A window's row does not depend on what else is computed with it, so no level common to several windows is taken off.
-- Instead each pane's mean is split (Veltkamp): `coarse` has 15 significant bits, so sums of its squares are exact up to
-- some 3,000 samples a window, and the rest is too small for what cancels in its products to matter.
WITH placed AS (
  SELECT
    *,
    "sum" / n AS center,
    center * (2.0::DOUBLE ** 38 + 1) AS scaled,
    scaled - (scaled - center) AS coarse,
    n * coarse AS n_coarse,
    n * (center - coarse) AS n_rest,
    m2 + n * (center - coarse) * (center + coarse) AS spread,
    epoch_ns(pane) // $pane_ns AS place
  FROM panes
),
members AS (
  SELECT
    *,
    unnest(range(
      greatest((place + $stride) // $stride, $first_end),
      least((place + $length) // $stride, $last_end) + 1
    )) AS window_number
  FROM placed
),
moments AS (
  SELECT
    channel_id,
    window_number,
    sum(n)::INTEGER AS n,
    sum("sum") / sum(n) AS plain_mean,
    sum(wsum) / nullif(sum(dt), 0) AS weighted_mean,
    (sum(n) * sum(n_coarse * coarse) - sum(n_coarse) * sum(n_coarse)) / sum(n)
      + (sum(spread) - sum(n_rest) * (2 * sum(n_coarse) + sum(n_rest)) / sum(n)) AS m2,
    min("min") AS "min",
    max("max") AS "max",
    CASE WHEN count(*) > 1
      THEN -regr_slope(center, window_number * $stride - place) * 1e9 / $pane_ns
    END AS slope
  FROM members
  GROUP BY channel_id, window_number
)
SELECT
  make_timestamp_ns(window_number * $stride * $pane_ns) AS window_end,
  channel_id,
  n,
  coalesce(weighted_mean, plain_mean)::FLOAT AS mean,
  CASE WHEN "min" = "max" THEN 0 ELSE sqrt(greatest(m2, 0) / n) END::FLOAT AS std,
  "min",
  "max",
  try_cast(slope AS FLOAT) AS slope
FROM moments
ORDER BY channel_id, window_end
