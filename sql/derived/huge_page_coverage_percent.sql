-- Share of the processes' own (anonymous) memory that lies in transparent huge pages.
--
-- subsystem  memory
-- grain      device
-- unit       %
-- inputs     memory.anonymous_bytes, memory.anonymous_huge_bytes
-- formula    100 * anonymous_huge / anonymous
100 * anonymous_huge_bytes / nullif(anonymous_bytes, 0)
