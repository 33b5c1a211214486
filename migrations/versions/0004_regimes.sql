-- Which kind of behaviour an episode is about.

-- The regime that the host was in when it opened, in words; `new regime` where it turned out to be one; empty: no regimes are known.
ALTER TABLE episodes ADD COLUMN regime TEXT NOT NULL DEFAULT '';
