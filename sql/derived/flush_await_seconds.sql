-- Mean time from issue to completion of a flush. Absent while there is none.
--
-- subsystem  storage
-- grain      device
-- unit       s
-- inputs     storage.flushes_per_s, storage.flush_time_seconds_per_s
-- formula    flush_time / flushes
flush_time_seconds_per_s / nullif(flushes_per_s, 0)
