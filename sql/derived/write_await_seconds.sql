-- Mean time from issue to completion of a write. Absent while there is none.
--
-- subsystem  storage
-- grain      device
-- unit       s
-- inputs     storage.writes_per_s, storage.write_time_seconds_per_s
-- formula    write_time / writes
write_time_seconds_per_s / nullif(writes_per_s, 0)
