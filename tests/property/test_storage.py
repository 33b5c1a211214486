"""Whatever is written, flushed, merged or damaged: what was stored comes back, once, sorted, and nothing else does."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from hostsight.clock import SECOND_NS
from hostsight.folders import DataFolder
from hostsight.settings import Duration, Settings, SpoolSettings
from ingest.compaction import compact
from ingest.embedded import EmbeddedStore
from ingest.frame import frames
from ingest.lake import Lake
from ingest.segment import Ticks, header_frame
from tests.unit.storage.makers import HOST, T0, age_files, batch_frame, channels, samples, span, writer

_VALUES = st.floats(width=32, allow_nan=True, allow_infinity=True)
_TICK = st.tuples(st.integers(1, 3_000_000_000), st.lists(_VALUES, min_size=2, max_size=2), st.booleans())


@given(ticks=st.lists(_TICK, max_size=40), segment=st.integers(1, 60))
@settings(deadline=None, max_examples=50)
def test_every_finite_value_comes_back_once(ticks: list[tuple[int, list[float], bool]], segment: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        data = DataFolder(Path(folder)).create()
        spool = writer(data, SpoolSettings(segment=Duration(segment)))
        spool.open(channels(2))
        at, written = T0, set()
        for step, values, flush in ticks:
            at += step
            spool.append(at, 0.1, np.array(values, np.float32))
            ids = (channel.id for channel in channels(2))
            written |= {
                (one, at, value) for one, value in zip(ids, values, strict=True) if np.isfinite(value)
            }
            if flush:
                spool.flush()
        spool.close()
        table = EmbeddedStore(data, Settings()).export(HOST, span(0, 1000))
        keys = (table[name].to_pylist() for name in ("channel_id", "value"))
        found = list(zip(*keys, table["ts"].cast(pa.int64()).to_pylist(), strict=True))
    assert [(one, ts) for one, _, ts in found] == sorted((one, ts) for one, ts, _ in written)
    assert {(one, ts, value) for one, value, ts in found} == written


@given(damage=st.binary(max_size=200), cut=st.integers(0, 4000), at=st.integers(0, 4000))
@settings(deadline=None, max_examples=200)
def test_damage_never_raises_and_never_makes_up_a_frame(damage: bytes, cut: int, at: int) -> None:
    ticks = [Ticks(np.array([T0 + k]), np.ones(1, np.float32), np.ones((1, 3), np.float32)) for k in range(4)]
    written = [header_frame(HOST, channels(), T0), *map(batch_frame, ticks)]
    whole = b"".join(written)
    content = (whole[:at] + damage + whole[at + len(damage) :])[: len(whole) - cut % len(whole)]
    for frame in frames(content):
        assert content[frame.offset : frame.offset + frame.length] in written


@given(
    lengths=st.lists(st.integers(1, 900), min_size=1, max_size=25),
    passes=st.lists(st.integers(0, 9000), max_size=4),
)
@settings(deadline=None, max_examples=25)
def test_compaction_at_any_time_changes_nothing_that_is_read(lengths: list[int], passes: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(DataFolder(Path(folder)).create())
        start = 0
        for length in lengths:
            rows = samples(np.arange(start, start + length, dtype=np.float64))
            lake.write("samples", HOST, span(start, start + length), rows)
            start += length
        for seconds in passes:
            now_ns = T0 + seconds * SECOND_NS
            age_files(lake, now_ns, 200)
            compact(lake, now_ns)
            assert lake.read("samples", HOST, span(0, start)) == samples(np.arange(start, dtype=np.float64))
