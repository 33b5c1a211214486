-- What operators say about episodes, what keeps an episode quiet, and the alerts that go out.

-- While acknowledged_ns is set nobody is alerted any more; it ends with the episode.
ALTER TABLE episodes ADD COLUMN acknowledged_ns INTEGER;
-- The suppression that keeps it quiet.
ALTER TABLE episodes ADD COLUMN rule_id INTEGER;
-- The false alarm that it is like; its own id where a person called it one.
ALTER TABLE episodes ADD COLUMN false_alarm_id INTEGER;
-- The episode that its cause is known from; its own id where a person named it.
ALTER TABLE episodes ADD COLUMN cause_id INTEGER;

-- Episodes whose main channel matches all four patterns (GLOB), seen in [from_ns, until_ns), alert nobody. Null: no end.
CREATE TABLE suppressions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  host TEXT NOT NULL,
  subsystem TEXT NOT NULL,
  device TEXT NOT NULL,
  metric TEXT NOT NULL,
  from_ns INTEGER NOT NULL,
  until_ns INTEGER,
  reason TEXT NOT NULL
) STRICT;

-- The outbox: written with the episode's change, sent in order by a job of its own. `body` is the message as JSON.
CREATE TABLE alerts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  receiver TEXT NOT NULL CHECK (receiver IN ('webhook', 'alertmanager')),
  episode_id INTEGER NOT NULL REFERENCES episodes (id) ON DELETE CASCADE,
  status TEXT NOT NULL CHECK (status IN ('firing', 'resolved')),
  severity TEXT NOT NULL,
  body TEXT NOT NULL,
  queued_ns INTEGER NOT NULL,
  state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'refused')),
  attempts INTEGER NOT NULL DEFAULT 0,
  error TEXT
) STRICT;
CREATE INDEX alerts_by_episode ON alerts (receiver, episode_id);
CREATE INDEX alerts_by_state ON alerts (receiver, state);
