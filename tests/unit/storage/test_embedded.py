"""The embedded store: which seconds are whole, and that each sample comes once, sorted."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hostsight.clock import SECOND_NS
from hostsight.folders import DataFolder
from hostsight.settings import Duration, Settings, Size, SpoolSettings
from hostsight.timerange import TimeRange
from ingest.embedded import EmbeddedStore
from ingest.influx.position import Position, Positions
from ingest.segment import list_segments
from ingest.store import SAMPLES
from migrations import open_state
from tests.unit.storage.makers import (
    HOST,
    T0,
    channels,
    flip,
    readers,
    second,
    span,
    tick,
    whole_spool,
    writer,
)


@pytest.fixture
def store(data: DataFolder) -> EmbeddedStore:
    return EmbeddedStore(data, Settings())


def test_an_empty_spool_has_no_hosts_and_nospan(store: EmbeddedStore) -> None:
    assert store.hosts() == []
    assert store.span(HOST) is None
    assert store.channels(HOST) == ()
    assert store.export(HOST, span(0, 60)) == SAMPLES.empty_table()


def test_a_second_is_whole_once_its_batch_is_there(data: DataFolder, store: EmbeddedStore) -> None:
    spool = writer(data)
    for at in range(3):
        second(spool, at)
        assert store.span(HOST) == span(0, at + 1)


def test_late_ticks_that_were_skipped_do_not_hold_a_second_back(
    data: DataFolder, store: EmbeddedStore
) -> None:
    second(writer(data), 0, ticks=4)
    assert store.span(HOST) == span(0, 1)


def test_a_second_in_which_the_agent_stopped_waits_for_what_follows(
    data: DataFolder, store: EmbeddedStore
) -> None:
    spool = writer(data)
    second(spool, 0)
    tick(spool, 1.05)
    spool.close()
    assert store.span(HOST) == span(0, 1)
    again = writer(data)
    tick(again, 1.85)
    again.flush()
    assert store.span(HOST) == span(0, 2)
    assert _stamps(whole_spool(store)) == pytest.approx([k / 10 + 0.05 for k in range(10)] + [1.05, 1.85])


def test_a_gap_stalls_nothing(data: DataFolder, store: EmbeddedStore) -> None:
    spool = writer(data)
    second(spool, 0)
    second(spool, 500)
    assert store.span(HOST) == span(0, 501)
    assert store.export(HOST, span(1, 500)).num_rows == 0
    assert store.export(HOST, span(400, 501)).num_rows == 30


def test_samples_are_sorted_by_channel_and_time(data: DataFolder, store: EmbeddedStore) -> None:
    spool = writer(data)
    for at in range(59, 62):
        second(spool, at)
    table = whole_spool(store)
    keys = list(zip(table["channel_id"].to_pylist(), table["ts"].cast(pa.int64()).to_pylist(), strict=True))
    assert len(keys) == 90
    assert all(before < after for before, after in pairwise(keys))


def test_each_value_belongs_to_its_channel(data: DataFolder, store: EmbeddedStore) -> None:
    second(writer(data), 7)
    table = whole_spool(store)
    for index, channel in enumerate(channels()):
        values = table.filter(pc.equal(table["channel_id"], channel.id))["value"].to_pylist()
        assert values == pytest.approx([700 + k + index / 10 for k in range(10)])


def test_absent_values_are_no_rows(data: DataFolder, store: EmbeddedStore) -> None:
    spool = writer(data)
    tick(spool, 0.1, [1, math.nan, 3])
    tick(spool, 0.2, [math.nan, math.nan, 4])
    spool.flush()
    assert sorted(whole_spool(store)["value"].to_pylist()) == [1, 3, 4]


def test_consecutive_exports_give_every_sample_once(data: DataFolder, store: EmbeddedStore) -> None:
    spool = writer(data, SpoolSettings(segment=Duration(7)))
    position, parts = T0, []
    for at in range(40):
        second(spool, at)
        stored = store.span(HOST)
        assert stored is not None
        parts.append(store.export(HOST, TimeRange(position, stored.end_ns)))
        position = stored.end_ns
    assert [part.num_rows for part in parts] == [30] * 40
    assert pa.concat_tables(parts).sort_by([("channel_id", "ascending"), ("ts", "ascending")]) == whole_spool(
        store
    )


def test_channels_of_two_layouts_come_in_one_table(data: DataFolder, store: EmbeddedStore) -> None:
    spool = writer(data)
    second(spool, 0)
    spool.open(channels(5))
    second(spool, 1, count=5)
    table = whole_spool(store)
    assert table.num_rows == 80
    assert table == table.sort_by([("channel_id", "ascending"), ("ts", "ascending")])
    assert set(store.channels(HOST)) == set(channels(5))


def test_channels_are_forgotten_with_the_last_segment_that_has_them(
    data: DataFolder, store: EmbeddedStore
) -> None:
    spool = writer(data)
    spool.open(channels(5))
    second(spool, 0, count=5)
    assert store.channels(HOST) == channels(5)
    spool.open(channels(3))
    for at in range(60, 960, 60):
        second(spool, at)
        store.span(HOST)
    assert store.channels(HOST) == channels(5)
    assert store.release(HOST, span(0, 900).end_ns)
    assert store.span(HOST) is not None
    assert store.channels(HOST) == channels(3)


def test_hosts_are_kept_apart(data: DataFolder, store: EmbeddedStore) -> None:
    second(writer(data, host="b"), 0)
    second(writer(data, host="a/1"), 5)
    assert store.hosts() == ["a/1", "b"]
    assert store.span("a/1") == span(5, 6)
    assert {channel.host for channel in store.channels("b")} == {"b"}


@pytest.mark.parametrize("back", [10, 3600])
def test_after_a_clock_set_back_the_span_follows_the_newest_segment(
    data: DataFolder, store: EmbeddedStore, back: int
) -> None:
    spool = writer(data)
    second(spool, 30)
    second(spool, 30 - back)
    assert store.span(HOST) == span(30 - back, 31 - back)
    assert store.export(HOST, span(30 - back, 31 - back)).num_rows == 30
    assert store.export(HOST, span(30, 31)).num_rows == 30


def test_a_damaged_batch_is_left_out_and_said(data: DataFolder, store: EmbeddedStore) -> None:
    spool = writer(data)
    for at in range(3):
        second(spool, at)
    (reader,) = readers(data)
    flip(reader.path, reader.frames[1].offset + 300)
    assert {int(at) for at in _stamps(whole_spool(store))} == {0, 2}
    (problem,) = store.problems
    assert str(reader.path) in problem


def test_an_unreadable_segment_blocks_no_other(data: DataFolder, store: EmbeddedStore) -> None:
    spool = writer(data)
    for at in (0, 60, 120):
        second(spool, at)
    paths = [reader.path for reader in readers(data)]
    paths[1].write_bytes(b"\0" * 5000)
    paths[2].write_bytes(b"")
    assert store.span(HOST) == span(0, 1)
    second(spool, 121)
    assert {int(at) for at in _stamps(whole_spool(store))} <= {0, 121}


def test_segments_that_the_bound_deleted_are_forgotten(data: DataFolder, store: EmbeddedStore) -> None:
    spool = writer(data, SpoolSettings(max_bytes=Size(20_000)))
    for at in range(0, 1200, 10):
        second(spool, at)
        assert store.span(HOST) is not None
    assert spool.dropped_segments > 3
    table = whole_spool(store)
    assert table.num_rows == 30 * sum(len(reader.frames) for reader in readers(data))


def test_segments_that_the_pipeline_has_had_are_released_but_for_ten_minutes(
    data: DataFolder, store: EmbeddedStore
) -> None:
    spool = writer(data)
    for at in range(0, 1800, 30):
        second(spool, at)
    assert store.release(HOST, span(0, 1500).end_ns) == 15
    assert store.span(HOST) == span(900, 1771)
    assert store.release(HOST, span(0, 1500).end_ns) == 0


def test_nothing_is_released_while_the_clock_is_behind_what_was_done(
    data: DataFolder, store: EmbeddedStore
) -> None:
    spool = writer(data)
    for at in (*range(3600, 5400, 60), *range(0, 1800, 60)):
        second(spool, at)
    assert store.release(HOST, span(0, 5400).end_ns) == 0


def test_a_damaged_segment_is_not_released(data: DataFolder, store: EmbeddedStore) -> None:
    spool = writer(data)
    for at in range(0, 1200, 30):
        second(spool, at)
    reader = readers(data)[2]
    flip(reader.path, reader.frames[0].offset + 300)
    assert store.release(HOST, span(0, 1171).end_ns) == 9
    assert list_segments(data.spool)[0].number == 3


def test_a_segment_that_influxdb_still_lacks_is_not_released(data: DataFolder, store: EmbeddedStore) -> None:
    spool = writer(data)
    for at in range(0, 1800, 30):
        second(spool, at)
    connection = open_state(data.state_db)
    Positions(connection, "an earlier server").put(Position(HOST, segment=2), T0 - SECOND_NS)
    Positions(connection, "a server").put(Position(HOST, segment=4), T0)
    connection.close()
    assert store.release(HOST, span(0, 1500).end_ns) == 3
    assert list_segments(data.spool)[0].number == 4


def test_a_drain_that_was_given_up_keeps_nothing(data: DataFolder, store: EmbeddedStore) -> None:
    spool = writer(data)
    for at in range(0, 1800, 30):
        second(spool, at)
    connection = open_state(data.state_db)
    Positions(connection, "a server").put(Position(HOST, segment=4), T0 - 8 * 86_400 * SECOND_NS)
    connection.close()
    assert store.release(HOST, span(0, 1500).end_ns) == 15


def test_many_segments_are_read_in_order(data: DataFolder, store: EmbeddedStore) -> None:
    spool = writer(data, SpoolSettings(segment=Duration(1)))
    for at in range(150):
        second(spool, at, ticks=1)
    assert len(list_segments(data.spool)) == 150
    ones = _stamps(whole_spool(store))
    assert ones == pytest.approx(np.arange(150) + 0.05)


def _stamps(table: pa.Table) -> list[float]:
    """Distinct stamps in seconds after T0, ascending."""
    found = np.unique((table["ts"].cast(pa.int64()).to_numpy() - T0) / SECOND_NS)
    return [float(stamp) for stamp in found]
