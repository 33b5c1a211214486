-- Mean time from issue to completion of a read. Absent while there is none.
--
-- subsystem  storage
-- grain      device
-- unit       s
-- inputs     storage.reads_per_s, storage.read_time_seconds_per_s
-- formula    read_time / reads
read_time_seconds_per_s / nullif(reads_per_s, 0)
