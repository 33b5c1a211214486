"""The benchmark of features: what it reports, and that its peer computes the same thing."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from bench.features import bench_features, numpy_features
from bench.server import START_NS, TICK_NS, server_channels
from hostsight.clock import SECOND_NS
from hostsight.settings import Settings, WindowSettings
from hostsight.timerange import TimeRange
from ingest.store import SAMPLES
from sql.features import FeatureBuilder
from sql.schemas import FEATURE_NAMES


def test_features_in_sql_are_those_of_plain_numpy() -> None:
    values = np.random.default_rng(3).normal(1e9, 1e6, (4, 100)).astype(np.float32)
    ticks = START_NS + np.arange(100) * TICK_NS
    samples = pa.table(
        [
            pa.array(np.tile(ticks, 4)).cast(pa.timestamp("ns")),
            np.repeat([1, 2, 3, 4], 100),
            values.ravel(),
            np.full(400, 0.1, np.float32),
        ],
        schema=SAMPLES,
    )
    builder = FeatureBuilder(WindowSettings(), [])
    ends = TimeRange(START_NS + 2 * SECOND_NS, START_NS + 10 * SECOND_NS)
    found = builder.build(samples, ends).features
    builder.close()
    ours = np.stack([found[name].to_numpy() for name in FEATURE_NAMES], axis=1).reshape(4, 8, 5)
    np.testing.assert_allclose(ours, numpy_features(values), rtol=2e-5)


def test_a_synthetic_server_has_distinct_channels_in_order_of_their_ids() -> None:
    ids = [channel.id for channel in server_channels(700)]
    assert len(set(ids)) == 700
    assert ids == sorted(ids)


def test_the_report_holds_rates_for_the_size_asked_for() -> None:
    found = bench_features(Settings(), channels=300, minutes=1, repeats=1, increments=3)
    settings, results = found["settings"], found["results"]
    assert isinstance(settings, dict)
    assert isinstance(results, dict)
    assert found["benchmark"] == "features"
    assert (settings["channels"], settings["derived_channels"]) == (300, 26)
    assert results["samples"] == 300 * 600
    assert results["samples_per_s"] == pytest.approx(results["samples"] / results["build_seconds"])
    assert results["increment_ms_p99"] >= results["increment_ms_p50"] > 0
