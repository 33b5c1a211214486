-- The views an analyst can rely on: columns may be added, none is renamed or removed.
--
-- inputs   lake_samples, lake_features, lake_scores: the lake's Parquet files; state_*: tables of the state database
-- output   one block a view; the lines above each SELECT are its documentation (docs/views.md is made from them)

-- name: samples
-- What was measured: one finite value of one channel at one instant, sorted by channel and time within each file.
-- Filter by `ts` and `channel_id`: whole files and row groups outside are then never read.
--
-- ts          TIMESTAMP_NS  when the value was read, UTC
-- channel_id  BIGINT        the time series it belongs to, see `channels`
-- value       FLOAT         the value in the channel's unit
-- dt          FLOAT         seconds that the value stands for: its tick's own length
SELECT ts, channel_id, value, dt FROM lake_samples

-- name: channels
-- The time series: one row a channel, derived metrics included.
--
-- channel_id      BIGINT        63-bit id, the same on every run and machine
-- host            VARCHAR       the server it describes
-- subsystem       VARCHAR       cpu, gpu, memory, interconnect, network, storage or agent
-- device          VARCHAR       such as cpu3, eth0, vda, node0; `host` for the server as a whole
-- metric          VARCHAR       what is measured; its unit ends the name
-- kind            VARCHAR       rate, gauge, state or event
-- unit            VARCHAR       unit of the values
-- period_seconds  DOUBLE        how often the source itself changes
-- source          VARCHAR       the kernel file, or `derived`
-- first_seen      TIMESTAMP_NS  start of its telemetry
-- last_seen       TIMESTAMP_NS  end of its telemetry so far
SELECT
  channel_id, host, subsystem, device, metric, kind, unit, period_seconds, source,
  make_timestamp_ns(first_seen_ns) AS first_seen,
  make_timestamp_ns(last_seen_ns) AS last_seen
FROM state_channels

-- name: features
-- Statistics of each channel in each window, which is what detection sees. Windows are named by their end.
-- Older than `[retention] features`, one window in ten is kept.
--
-- window_end  TIMESTAMP_NS  end of the window, UTC; its samples lie before it
-- channel_id  BIGINT        the time series, see `channels`
-- n           INTEGER       samples in the window
-- mean        FLOAT         mean, each sample weighted by its tick's length
-- std         FLOAT         standard deviation of the samples
-- min         FLOAT         smallest sample
-- max         FLOAT         largest sample
-- slope       FLOAT         least squares through the panes' means, units per second; null with a single pane
SELECT window_end, channel_id, n, mean, std, "min", "max", slope FROM lake_features

-- name: scores
-- How anomalous each window was: a row for each detector and one, `fused`, for all of them together.
--
-- window_end        TIMESTAMP_NS  end of the window, UTC
-- host              VARCHAR       the server
-- detector          VARCHAR       name of the detector, or `fused`
-- score             DOUBLE        the detector's own score; higher is more anomalous
-- tail_probability  DOUBLE        how rare such a score was in training; 0.01 is one window in a hundred
-- model             VARCHAR       the baseline that scored it, see `models`
SELECT window_end, host, detector, score, tail_probability, model FROM lake_scores

-- name: episodes
-- Runs of anomalous windows, shown to a person as one thing.
--
-- id          BIGINT        number of the episode, as `hostsight explain` takes it
-- host        VARCHAR       the server
-- state       VARCHAR       open or closed
-- opened      TIMESTAMP_NS  end of the window that opened it
-- last_seen   TIMESTAMP_NS  end of its newest anomalous window
-- closed      TIMESTAMP_NS  when it closed; null while it is open
-- severity    VARCHAR       info, warning or critical
-- score       DOUBLE        how far beyond normal it went
-- confidence  DOUBLE        share of the detectors that agree, 0 to 1
-- subsystem   VARCHAR       where it shows most
-- device      VARCHAR       the device that it shows most on
-- metric      VARCHAR       the metric that it shows most in
-- cause       VARCHAR       the known cause that it matches; null if none
-- summary     VARCHAR       the episode in a sentence
-- model       VARCHAR       the baseline that scored it, see `models`
-- visible     TIMESTAMP_NS  when its row was written
-- muted       BOOLEAN       it alerts nobody: an operator's rule suppresses it, or it is like a false alarm
-- acknowledged  TIMESTAMP_NS  when somebody took it in hand; null if nobody did
-- regime      VARCHAR       the regime that the host was in when it opened; `new regime` if it turned out to be one; null if none are known
SELECT
  id, host, state,
  make_timestamp_ns(opened_ns) AS opened,
  make_timestamp_ns(last_seen_ns) AS last_seen,
  make_timestamp_ns(closed_ns) AS closed,
  severity, score, confidence, subsystem, device, metric, cause, summary, model,
  make_timestamp_ns(visible_ns) AS visible,
  rule_id IS NOT NULL OR false_alarm_id IS NOT NULL AS muted,
  make_timestamp_ns(acknowledged_ns) AS acknowledged,
  nullif(regime, '') AS regime
FROM state_episodes

-- name: attributions
-- How much of an episode each channel explains; the shares of one episode sum to 1.
--
-- episode_id  BIGINT   see `episodes`
-- rank        BIGINT   1 is the largest share
-- channel_id  BIGINT   see `channels`
-- subsystem   VARCHAR  of the channel
-- device      VARCHAR  of the channel
-- metric      VARCHAR  of the channel
-- share       DOUBLE   0 to 1
-- expected    DOUBLE   the channel's usual value, in its unit
-- actual      DOUBLE   its value in the episode
-- unit        VARCHAR  unit of both
-- direction   VARCHAR  high, low or changed
SELECT
  episode_id, "rank", channel_id, subsystem, device, metric, share, expected, actual, unit, direction
FROM state_attributions

-- name: models
-- Fitted baselines: one row a version; at most one is live for each host.
--
-- model          VARCHAR       name of the version
-- host           VARCHAR       the server whose normal it knows
-- state          VARCHAR       live, retired or rejected
-- created        TIMESTAMP_NS  when it was fitted
-- trained_from   TIMESTAMP_NS  start of the telemetry that it was fitted on
-- trained_to     TIMESTAMP_NS  end of it
-- windows        BIGINT        windows it was fitted on
-- channels       BIGINT        channels it saw
-- kept_channels  BIGINT        channels it uses; each of the others is represented by one of these
-- reason         VARCHAR       why it was fitted, promoted or rejected
SELECT
  model, host, state,
  make_timestamp_ns(created_ns) AS created,
  make_timestamp_ns(trained_from_ns) AS trained_from,
  make_timestamp_ns(trained_to_ns) AS trained_to,
  windows, channels, kept_channels, reason
FROM state_models

-- name: job_runs
-- What the scheduled jobs did.
--
-- id        BIGINT        number of the run
-- job       VARCHAR       materialise, compact, refit or retain
-- state     VARCHAR       running, ok, failed or lost (its process ended without a word)
-- started   TIMESTAMP_NS  when it started
-- finished  TIMESTAMP_NS  when it ended; null while it runs
-- items     BIGINT        how many things it did: windows, files, models
-- error     VARCHAR       what went wrong; null if nothing
SELECT
  id, job, state,
  make_timestamp_ns(started_ns) AS started,
  make_timestamp_ns(finished_ns) AS finished,
  items, error
FROM state_job_runs
