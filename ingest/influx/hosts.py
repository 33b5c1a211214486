"""Which hosts have telemetry in a bucket, from when, and up to when it is complete."""

from __future__ import annotations

from hostsight.clock import SECOND_NS
from ingest.influx.client import InfluxClient
from ingest.influx.names import (
    PROGRESS,
    TICKS,
    flux_since,
    flux_string,
    parse_stamp_ns,
    quote_name,
    unquote_name,
)


def read_progress(client: InfluxClient, since_ns: int) -> dict[str, int]:
    """By host, up to when everything is in, as its drain has said since `since_ns`. Raises as `InfluxClient.rows` does."""
    rows = client.rows(
        flux_since(client.settings.bucket, since_ns)
        + f' |> filter(fn: (r) => r._measurement == {flux_string(PROGRESS)} and r._field == "until")'
        ' |> max() |> keep(columns: ["host", "_value"])'
    )
    return {unquote_name(row["host"]): round(float(row["_value"])) * SECOND_NS for row in rows}


def first_stamp(client: InfluxClient, host: str, since_ns: int = 0) -> int | None:
    """The oldest tick of a host since `since_ns` that the bucket still has, in ns; None where there is none."""
    rows = client.rows(
        flux_since(client.settings.bucket, since_ns)
        + f" |> filter(fn: (r) => r._measurement == {flux_string(TICKS)} and r.host == {flux_string(quote_name(host))})"
        ' |> first() |> keep(columns: ["_time"])'
    )
    return min((parse_stamp_ns(row["_time"]) for row in rows), default=None)
