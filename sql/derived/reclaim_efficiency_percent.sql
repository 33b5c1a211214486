-- Share of the pages that reclaim looked at that it could free: a low share is memory in real shortage.
-- Absent below 1000 pages per second.
--
-- subsystem  memory
-- grain      device
-- unit       %
-- inputs     memory.background_scanned_pages_per_s, memory.direct_scanned_pages_per_s, memory.background_reclaimed_pages_per_s, memory.direct_reclaimed_pages_per_s
-- formula    100 * reclaimed / scanned, background and direct
CASE WHEN (background_scanned_pages_per_s + direct_scanned_pages_per_s) >= 1000
  THEN 100 * (background_reclaimed_pages_per_s + direct_reclaimed_pages_per_s) / (background_scanned_pages_per_s + direct_scanned_pages_per_s)
END
