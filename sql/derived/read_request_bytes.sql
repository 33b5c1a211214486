-- Mean size of a read as it reaches the device, after merging. Absent while there is none.
--
-- subsystem  storage
-- grain      device
-- unit       B
-- inputs     storage.reads_per_s, storage.read_bytes_per_s
-- formula    read_bytes / reads
read_bytes_per_s / nullif(reads_per_s, 0)
