-- State of one data folder: everything small and mutable. Times are nanoseconds since the epoch, UTC.

-- How far each job has come: everything before position_ns is done and committed.
CREATE TABLE watermarks (
  job TEXT NOT NULL,
  host TEXT NOT NULL,
  position_ns INTEGER NOT NULL,
  updated_ns INTEGER NOT NULL,
  PRIMARY KEY (job, host)
) STRICT, WITHOUT ROWID;

CREATE TABLE channels (
  channel_id INTEGER PRIMARY KEY,
  host TEXT NOT NULL,
  subsystem TEXT NOT NULL,
  device TEXT NOT NULL,
  metric TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('rate', 'gauge', 'state', 'event')),
  unit TEXT NOT NULL,
  period_seconds REAL NOT NULL,
  source TEXT NOT NULL,
  first_seen_ns INTEGER NOT NULL,
  last_seen_ns INTEGER NOT NULL,
  UNIQUE (host, subsystem, device, metric)
) STRICT;

-- One row per fitted baseline; the arrays lie in models/<model>/. At most one is live per host.
CREATE TABLE models (
  model TEXT PRIMARY KEY,
  host TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('live', 'retired', 'rejected')),
  created_ns INTEGER NOT NULL,
  trained_from_ns INTEGER NOT NULL,
  trained_to_ns INTEGER NOT NULL,
  windows INTEGER NOT NULL,
  channels INTEGER NOT NULL,
  kept_channels INTEGER NOT NULL,
  reason TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX one_live_model_per_host ON models (host) WHERE state = 'live';

CREATE TABLE episodes (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  host TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'closed')),
  opened_ns INTEGER NOT NULL,
  last_seen_ns INTEGER NOT NULL,
  closed_ns INTEGER,
  severity TEXT NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
  score REAL NOT NULL,
  confidence REAL NOT NULL,
  subsystem TEXT NOT NULL,
  device TEXT NOT NULL,
  metric TEXT NOT NULL,
  cause TEXT,
  summary TEXT NOT NULL,
  model TEXT NOT NULL REFERENCES models (model),
  visible_ns INTEGER NOT NULL,
  CHECK ((state = 'closed') = (closed_ns IS NOT NULL))
) STRICT;
CREATE INDEX episodes_by_time ON episodes (host, last_seen_ns);

CREATE TABLE attributions (
  episode_id INTEGER NOT NULL REFERENCES episodes (id) ON DELETE CASCADE,
  rank INTEGER NOT NULL,
  channel_id INTEGER NOT NULL,
  subsystem TEXT NOT NULL,
  device TEXT NOT NULL,
  metric TEXT NOT NULL,
  share REAL NOT NULL,
  expected REAL,
  actual REAL,
  unit TEXT NOT NULL,
  direction TEXT NOT NULL CHECK (direction IN ('high', 'low', 'changed')),
  PRIMARY KEY (episode_id, rank)
) STRICT, WITHOUT ROWID;

CREATE TABLE episode_detectors (
  episode_id INTEGER NOT NULL REFERENCES episodes (id) ON DELETE CASCADE,
  detector TEXT NOT NULL,
  tail_probability REAL NOT NULL,
  threshold REAL NOT NULL,
  PRIMARY KEY (episode_id, detector)
) STRICT, WITHOUT ROWID;

-- What the episode state machine must remember between two runs, as JSON that models/ owns.
CREATE TABLE trackers (
  host TEXT PRIMARY KEY,
  state TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE job_runs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  job TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('running', 'ok', 'failed', 'lost')),
  started_ns INTEGER NOT NULL,
  finished_ns INTEGER,
  items INTEGER NOT NULL DEFAULT 0,
  error TEXT
) STRICT;
CREATE INDEX job_runs_by_time ON job_runs (job, started_ns);

-- What a person on this data folder asks the running jobs to do; a job deletes what it has done.
CREATE TABLE requests (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  job TEXT NOT NULL,
  host TEXT NOT NULL,
  asked_ns INTEGER NOT NULL
) STRICT;
