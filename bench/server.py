"""Synthetic samples of a two-socket server, and a lake that holds them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from hostsight.channel import Channel, Subsystem
from hostsight.clock import SECOND_NS
from hostsight.timerange import TimeRange
from ingest.lake import Lake
from ingest.store import SAMPLES

HOST = "synthetic"
START_NS = 1_700_000_000 * SECOND_NS
TICK_NS = SECOND_NS // 10
_CPUS = 64
_DEVICES = 8


def server_channels(count: int) -> list[Channel]:
    """CPUs, disks and NICs such as a two-socket server has, so that derived metrics are computed too; sorted by id."""
    shapes: list[tuple[Subsystem, str, str]] = [
        *(("cpu", f"cpu{cpu}", metric)
          for metric in ("busy_percent", "interrupts_per_s", "softirqs_per_s", "net_rx_softirqs_per_s")
          for cpu in range(_CPUS)),
        *(("storage", f"nvme{disk}n1", metric)
          for metric in ("reads_per_s", "read_time_seconds_per_s", "read_bytes_per_s", "writes_per_s")
          for disk in range(_DEVICES)),
        *(("network", f"eth{nic}", metric)
          for metric in ("rx_packets_per_s", "rx_dropped_packets_per_s", "rx_bytes_per_s", "tx_bytes_per_s")
          for nic in range(_DEVICES)),
        *(("memory", "host", metric)
          for metric in ("total_bytes", "available_bytes", "dirty_bytes", "writeback_bytes")),
    ]  # fmt: skip
    others: list[tuple[Subsystem, str, str]] = [
        ("memory", "host", f"synthetic_{number}_pages_per_s") for number in range(count)
    ]
    made = [
        Channel(HOST, subsystem, device, metric, "gauge", "1", 0.1, "synthetic")
        for subsystem, device, metric in (shapes + others)[:count]
    ]
    return sorted(made, key=lambda channel: channel.id)


def server_samples(known: Sequence[Channel], start_ns: int, seconds: int, seed: int = 0) -> pa.Table:
    """SAMPLES: noise about a level of each channel's own, with a late tick in a hundred."""
    ticks, rng = seconds * SECOND_NS // TICK_NS, np.random.default_rng(seed)
    levels = rng.lognormal(5, 3, (len(known), 1))
    values = (levels * (1 + 0.05 * rng.standard_normal((len(known), ticks)))).astype(np.float32)
    stamps = start_ns + np.arange(ticks, dtype=np.int64) * TICK_NS
    dt = np.where(rng.random(ticks) < 0.01, 0.2, 0.1).astype(np.float32)
    columns = [
        pa.array(np.tile(stamps, len(known))).cast(pa.timestamp("ns")),
        np.repeat([channel.id for channel in known], ticks),
        values.ravel(),
        np.tile(dt, len(known)),
    ]
    return pa.table(columns, schema=SAMPLES)


def write_lake(lake: Lake, known: Sequence[Channel], seconds: int) -> int:
    """`seconds` of samples in a file a minute; gives their number."""
    rows = 0
    for start in range(0, seconds, 60):
        span = TimeRange(START_NS + start * SECOND_NS, START_NS + (start + 60) * SECOND_NS)
        table = server_samples(known, span.start_ns, 60, seed=start)
        lake.write("samples", HOST, span, table)
        rows += table.num_rows
    return rows
