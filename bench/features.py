"""How fast samples become features: in bulk over a synthetic lake, and in the second-by-second increments of live work."""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.report import report
from bench.server import HOST, START_NS, TICK_NS, server_channels, write_lake
from hostsight.clock import SECOND_NS
from hostsight.folders import DataFolder
from hostsight.settings import Settings, WindowSettings
from hostsight.timerange import TimeRange
from ingest.lake import Lake
from sql.features import FeatureBuilder

CHUNK_SECONDS = 300
"""The longest stretch that a job takes at once."""


@dataclass(frozen=True, slots=True)
class Timing:
    wall_seconds: float
    cpu_seconds: float


def bench_features(
    settings: Settings, *, channels: int = 700, minutes: int = 10, repeats: int = 3, increments: int = 30
) -> dict[str, object]:
    """Best of `repeats` over `channels` x `minutes` at 100 ms, in stretches of five minutes as the jobs take them."""
    known, seconds = server_channels(channels), minutes * 60
    with tempfile.TemporaryDirectory(prefix="hostsight-bench-") as folder:
        lake = Lake(DataFolder(Path(folder)))
        samples = write_lake(lake, known, seconds)
        stored = lake.bytes()
        read = _best(partial(_read, lake, seconds), repeats)
        tables = _read(lake, seconds)
    builder = FeatureBuilder(settings.window, known)
    derived = len(builder.derived_channels)
    build = _best(partial(_build, builder, tables), repeats)
    live = _increments(builder, tables[0], settings.window, increments)
    builder.close()
    window = {name: float(getattr(settings.window, name)) for name in ("pane", "length", "stride")}
    return report(
        "features",
        {"channels": channels, "derived_channels": derived, "minutes": minutes, "window": window},
        {
            "samples": samples,
            "bytes_per_sample": stored / samples,
            "read_seconds": read.wall_seconds,
            "build_seconds": build.wall_seconds,
            "build_cpu_seconds": build.cpu_seconds,
            "samples_per_s": samples / build.wall_seconds,
            "samples_per_cpu_s": samples / build.cpu_seconds,
            **_beside_numpy(tables[0], len(known), repeats, samples / build.wall_seconds),
            **_percentiles(live),
        },
    )


def numpy_features(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """The peer: [channels, windows, 5] of [channels, ticks], default windows, no gap, every tick of the same length."""
    panes = values.reshape(len(values), -1, SECOND_NS // TICK_NS).astype(np.float64)
    means = panes.mean(axis=2)
    windows = partial(np.lib.stride_tricks.sliding_window_view, window_shape=3, axis=1)
    variance = windows(panes.var(axis=2)).mean(axis=2) + windows(means).var(axis=2)
    return np.stack(
        [
            windows(means).mean(axis=2),
            np.sqrt(variance),
            windows(panes.min(axis=2)).min(axis=2),
            windows(panes.max(axis=2)).max(axis=2),
            (means[:, 2:] - means[:, :-2]) / 2,
        ],
        axis=2,
    ).astype(np.float32)


def _beside_numpy(table: pa.Table, channels: int, repeats: int, rate: float) -> dict[str, object]:
    dense = table["value"].to_numpy().reshape(channels, -1)
    peer_rate = dense.size / _best(partial(numpy_features, dense), repeats).wall_seconds
    return {"numpy_samples_per_s": peer_rate, "ratio_to_numpy": rate / peer_rate}


def _chunks(seconds: int) -> list[TimeRange]:
    bounds = [*range(0, seconds, CHUNK_SECONDS), seconds]
    edges = [START_NS + bound * SECOND_NS for bound in bounds]
    return [TimeRange(start, end) for start, end in itertools.pairwise(edges)]


def _read(lake: Lake, seconds: int) -> list[pa.Table]:
    return [lake.read("samples", HOST, chunk) for chunk in _chunks(seconds)]


def _build(builder: FeatureBuilder, tables: Sequence[pa.Table]) -> None:
    for number, table in enumerate(tables):
        start_ns = START_NS + number * CHUNK_SECONDS * SECOND_NS
        builder.build(table, TimeRange(start_ns, start_ns + CHUNK_SECONDS * SECOND_NS))


def _increments(builder: FeatureBuilder, table: pa.Table, window: WindowSettings, count: int) -> list[Timing]:
    """What each new second costs, with the seconds before it that its windows reach back to."""
    stamps = table["ts"].combine_chunks().cast(pa.int64()).to_numpy()
    lead_ns = -(-window.length.ns // SECOND_NS) * SECOND_NS
    timings = []
    for second in range(count):
        end_ns = START_NS + lead_ns + second * SECOND_NS
        samples = table.filter(pa.array((stamps >= end_ns - lead_ns) & (stamps < end_ns)))
        timings.append(_timed(partial(builder.build, samples, TimeRange(end_ns - SECOND_NS, end_ns))))
    return timings


def _percentiles(timings: Sequence[Timing]) -> dict[str, object]:
    walls = [timing.wall_seconds * 1e3 for timing in timings]
    return {
        "increment_ms_p50": float(np.percentile(walls, 50)),
        "increment_ms_p99": float(np.percentile(walls, 99)),
        "increment_cpu_ms_mean": float(np.mean([timing.cpu_seconds * 1e3 for timing in timings])),
    }


def _timed(work: Callable[[], object]) -> Timing:
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return Timing(time.perf_counter() - wall, time.process_time() - cpu)


def _best(work: Callable[[], object], repeats: int) -> Timing:
    return min((_timed(work) for _ in range(repeats)), key=lambda timing: timing.wall_seconds)
