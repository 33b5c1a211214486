"""How long one window takes: every detector, calibration and attribution."""

from __future__ import annotations

import time

import numpy as np

from bench.report import report
from bench.server import server_channels
from hostsight.clock import SECOND_NS
from hostsight.settings import Settings
from models.baseline import fit_baseline
from models.frames import select_rows
from models.history import History
from models.layout import layout_for
from models.protocol import WindowBlock
from sql.schemas import FEATURE_NAMES


def bench_score(
    settings: Settings, *, channels: int = 700, minutes: int = 90, windows: int = 200
) -> dict[str, object]:
    """Fit on `minutes` of a synthetic host, then score and attribute `windows` one by one, as live telemetry comes."""
    known = {channel.id: channel for channel in server_channels(channels)}
    stride_ns = settings.window.stride.ns
    count = minutes * 60 * SECOND_NS // stride_ns
    block = _block(np.array(sorted(known), np.int64), count + windows, stride_ns)
    history = History(layout_for(settings.window, count * stride_ns))
    start, started = time.perf_counter(), time.process_time()
    baseline = fit_baseline(history.widen(select_rows(block, slice(0, count))), known, settings.detect)
    fit_seconds, fit_cpu_seconds = time.perf_counter() - start, time.process_time() - started
    timings = []
    cpu = time.process_time()
    for row in range(count, count + windows):
        start = time.perf_counter()
        window = history.widen(select_rows(block, slice(row, row + 1)))
        baseline.score(window)
        baseline.attribute(window, [0])
        timings.append((time.perf_counter() - start) * 1e3)
    cpu_ms = (time.process_time() - cpu) / windows * 1e3
    return report(
        "score",
        {
            "channels": channels,
            "minutes": minutes,
            "windows": windows,
            "scales": list(baseline.layout.scales),
        },
        {
            "detectors": [each.name for each in baseline.entries],
            "window_cpu_ms_mean": cpu_ms,
            "window_ms_p50": float(np.percentile(timings, 50)),
            "window_ms_p99": float(np.percentile(timings, 99)),
            "fit_seconds": fit_seconds,
            "fit_cpu_seconds": fit_cpu_seconds,
        },
    )


def _block(ids: np.ndarray[tuple[int], np.dtype[np.int64]], windows: int, stride_ns: int) -> WindowBlock:
    """Noise about levels of every size, of which some move together."""
    rng = np.random.default_rng(0)
    level = 10 ** rng.uniform(0, 9, len(ids))
    common = rng.normal(size=(windows, 1)) * rng.uniform(0, 1, len(ids))
    noise = rng.normal(size=(windows, len(ids), len(FEATURE_NAMES)))
    values = level[:, np.newaxis] * (1 + 0.05 * (noise + common[:, :, np.newaxis]))
    ends = (1 + np.arange(windows)) * stride_ns
    return WindowBlock(ends.astype(np.int64), ids, values.astype(np.float32))
