-- How far the spool has been sent to a store elsewhere. `target` names that store; everything before `byte_offset` of the
-- host's segment number `segment` is there, and so is its telemetry up to until_ns. Counts are since the first start.
CREATE TABLE drains (
  target TEXT NOT NULL,
  host TEXT NOT NULL,
  segment INTEGER NOT NULL,
  byte_offset INTEGER NOT NULL,
  until_ns INTEGER NOT NULL,
  sent_values INTEGER NOT NULL DEFAULT 0,
  rejected_batches INTEGER NOT NULL DEFAULT 0,
  rejected_values INTEGER NOT NULL DEFAULT 0,
  dropped_values INTEGER NOT NULL DEFAULT 0,
  lost_segments INTEGER NOT NULL DEFAULT 0,
  updated_ns INTEGER NOT NULL,
  PRIMARY KEY (target, host)
) STRICT, WITHOUT ROWID;
