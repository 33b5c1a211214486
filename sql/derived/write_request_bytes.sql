-- Mean size of a write as it reaches the device, after merging. Absent while there is none.
--
-- subsystem  storage
-- grain      device
-- unit       B
-- inputs     storage.writes_per_s, storage.write_bytes_per_s
-- formula    write_bytes / writes
write_bytes_per_s / nullif(writes_per_s, 0)
