"""How often an agent ticked, from two of its heartbeats."""

from __future__ import annotations

import msgspec

from bench.collect import tick_rate
from hostsight.clock import SECOND_NS
from ingest.heartbeat import Heartbeat

FIRST = Heartbeat(1, "gpu01", "/", 0, 5 * SECOND_NS, 0.1, 50, 0, 0.0, 0, 0, 0, 0, 0.0, 1, None, [])


def test_ticks_are_counted_over_the_time_between_the_heartbeats() -> None:
    last = msgspec.structs.replace(FIRST, updated_ns=33 * SECOND_NS, ticks=78)
    assert tick_rate(FIRST, last) == 1.0
