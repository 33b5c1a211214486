-- Share of a pool of reserved huge pages that is in use. Absent for an empty pool.
--
-- subsystem  memory
-- grain      device
-- unit       %
-- inputs     memory.huge_pages, memory.free_huge_pages
-- formula    100 * (huge_pages - free) / huge_pages
100 * (huge_pages - free_huge_pages) / nullif(huge_pages, 0)
