"""InfluxDB as the store: the spool is drained into it in order, and time ranges are exported from it.

A sample is a field: measurement = subsystem, tags `device` and `host`, field = metric, always a float, in nanoseconds.
Three measurements of hostsight's own go with them (`ingest.influx.names`): how long each tick was, what the channels
are, and up to where a host's telemetry is complete.
"""
