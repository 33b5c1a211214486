"""`bench collect` measures something."""

from __future__ import annotations

from bench.collect import bench_collect
from hostsight.settings import Settings


def test_measures_the_agent_beside_a_psutil_loop() -> None:
    document = bench_collect(Settings(), 1)
    assert document["benchmark"] == "collect"
    results = document["results"]
    assert isinstance(results, dict)
    assert results["agent"]["channels"] > 50
    assert 0 < results["agent"]["values_per_tick"] < results["agent"]["channels"]
    assert results["agent"]["rss_bytes"] > 2**24
    assert results["psutil_loop"]["cpu_us_per_tick"] > 0
    assert results["ratio"] > 0
