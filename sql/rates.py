"""Readings of gauges and growing counters to samples."""

from __future__ import annotations

from contextlib import closing

import pyarrow as pa

from ingest.store import SAMPLES
from sql.engine import connect, fetch, statement

GAP_PERIODS = 3.5
"""Over so many periods without a reading there is a gap, over which no rate is taken."""


def gap_ns(period_ns: int) -> int:
    """How far readings must reach back for the first rate wanted."""
    return round(GAP_PERIODS * period_ns)


def samples(readings: pa.Table, start_ns: int, period_ns: int) -> pa.Table:
    """SAMPLES from `start_ns` on, of READINGS (`ingest.influx.telegraf`) that come every `period_ns`."""
    bound = {"start_ns": start_ns, "period_ns": period_ns, "gap_ns": gap_ns(period_ns)}
    with closing(connect()) as connection:
        connection.register("readings", readings)
        return fetch(connection, statement("rates"), bound).cast(SAMPLES)
