"""`bench latency` against the real pipeline; what it measures is not judged here."""

from __future__ import annotations

import json
from typing import Any

from bench.latency import bench_latency
from hostsight.settings import Settings


def test_the_latency_benchmark_sees_windows_and_what_the_pipeline_used() -> None:
    found: dict[str, Any] = bench_latency(Settings(), 3.0, channels=20)
    results = found["results"]

    assert json.loads(json.dumps(found))["benchmark"] == "latency"
    assert found["settings"] == {"seconds": 3.0, "channels": 20, "ticks_per_second": 10}
    assert results["window_seconds"]["count"] >= 2
    assert 0 < results["window_seconds"]["p50"] <= results["window_seconds"]["max"]
    assert results["pipeline"]["rss_bytes"] > 10**7
