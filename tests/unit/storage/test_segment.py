"""Segments: what was written comes back, torn tails are not there yet, damage costs its own batch alone."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from hostsight.channel import Channel
from hostsight.folders import DataFolder
from ingest.segment import SegmentName, SegmentReader, Ticks, header_frame, list_segments
from tests.unit.storage.makers import (
    HOST,
    T0,
    batch_frame,
    channels,
    flip,
    readers,
    second,
    stamps,
    tick,
    writer,
)


@pytest.mark.parametrize(
    "host", ["gpu01", "rack~3", "../../etc", ".hidden", "a b%7E", "höst", "\udcff", "x" * 64]
)
def test_a_name_holds_any_host(host: str) -> None:
    name = SegmentName(7, host, T0)
    assert SegmentName.parse(str(name)) == name
    assert "/" not in str(name)


@pytest.mark.parametrize(
    "name", ["notes.txt", "1~gpu01.arrow", "1~a~b~2.arrow", "x~gpu01~5.arrow", "1~gpu01~-5.arrow"]
)
def test_other_files_are_no_segments(name: str) -> None:
    assert SegmentName.parse(name) is None


def test_segments_are_listed_in_the_order_of_writing(tmp_path: Path) -> None:
    for number, start in ((10, 5), (2, 9), (9, 1)):
        (tmp_path / str(SegmentName(number, HOST, start))).touch()
    assert [name.number for name in list_segments(tmp_path)] == [2, 9, 10]


def test_a_folder_that_does_not_exist_has_no_segments(tmp_path: Path) -> None:
    assert list_segments(tmp_path / "none") == []


def test_ticks_come_back_as_they_were_written(data: DataFolder) -> None:
    spool = writer(data)
    tick(spool, 0.1, [1.5, -2, 3e38])
    tick(spool, 0.2, [0, math.nan, -0.25])
    spool.flush()
    (reader,) = readers(data)
    ticks = reader.read(reader.frames[0])
    assert ticks is not None
    assert ticks.ts.tolist() == [T0 + 100_000_000, T0 + 200_000_000]
    assert ticks.dt.tolist() == pytest.approx([0.1, 0.1])
    np.testing.assert_array_equal(ticks.values, np.array([[1.5, -2, 3e38], [0, np.nan, -0.25]], np.float32))


def test_what_is_not_finite_is_absent(data: DataFolder) -> None:
    spool = writer(data)
    tick(spool, 0, [math.inf, -math.inf, 7])
    spool.flush()
    (reader,) = readers(data)
    ticks = reader.read(reader.frames[0])
    assert ticks is not None
    np.testing.assert_array_equal(ticks.values, np.array([[np.nan, np.nan, 7]], np.float32))


def test_the_header_tells_host_and_channels(data: DataFolder) -> None:
    odd = Channel(HOST, "network", "e\udcffth [bold]", "rx_bytes_per_s", "rate", "B/s", 0.1, "/proc/net/dev")
    spool = writer(data)
    spool.open([*channels(), odd])
    tick(spool, 0, [1, 2, 3, 4])
    spool.flush()
    (reader,) = readers(data)
    assert reader.host == HOST
    assert reader.channels == (*channels(), odd)
    assert reader.layout == tuple(channel.id for channel in reader.channels)


def test_a_segment_is_an_ordinary_arrow_stream(data: DataFolder) -> None:
    spool = writer(data)
    for at in range(3):
        second(spool, at)
    (reader,) = readers(data)
    table = pa.ipc.open_stream(reader.path.read_bytes()).read_all()
    assert table.schema.field("values").type == pa.list_(pa.field("item", pa.float32()), 3)
    assert table["values"].to_pylist()[29] == pytest.approx([209, 209.1, 209.2])


def test_a_growing_segment_is_read_on_from_where_it_was(data: DataFolder) -> None:
    spool = writer(data)
    second(spool, 0)
    (reader,) = readers(data)
    second(spool, 1)
    second(spool, 2)
    reader.refresh()
    assert [frame.first_ns - T0 for frame in reader.frames] == [50_000_000, 1_050_000_000, 2_050_000_000]
    assert reader.damaged == 0


def test_a_file_torn_at_any_byte_gives_its_whole_batches_and_the_rest_when_it_comes(tmp_path: Path) -> None:
    batches = [batch_frame(_ticks(at)) for at in range(3)]
    header = header_frame(HOST, channels(), T0)
    ends = np.cumsum([len(header), *map(len, batches)])
    path = tmp_path / "segment.arrow"
    follower = SegmentReader(path)
    with path.open("wb", buffering=0) as file:
        for size, byte in enumerate(b"".join([header, *batches]), start=1):
            file.write(bytes([byte]))
            newcomer = SegmentReader(path)
            for reader in (follower, newcomer):
                reader.refresh()
                assert len(reader.frames) == max(0, int((ends <= size).sum()) - 1)
    assert (len(follower.frames), follower.damaged, follower.problem) == (3, 0, None)


def test_a_flipped_bit_anywhere_costs_its_own_batch_alone(tmp_path: Path) -> None:
    header = header_frame(HOST, channels(), T0)
    batches = [batch_frame(_ticks(at)) for at in range(3)]
    second_at = len(header) + len(batches[0])
    path = tmp_path / "segment.arrow"
    for offset in range(second_at, second_at + len(batches[1])):
        path.write_bytes(b"".join([header, *batches]))
        flip(path, offset, bit=offset % 8)
        reader = SegmentReader(path)
        reader.refresh()
        assert [frame.first_ns for frame in reader.frames] == [T0, T0 + 2], f"byte {offset}"
        assert reader.damaged == 1


def test_a_damaged_header_is_a_problem_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "segment.arrow"
    path.write_bytes(header_frame(HOST, channels(), T0) + batch_frame(_ticks(0)))
    flip(path, 100)
    reader = SegmentReader(path)
    reader.refresh()
    assert reader.frames == []
    assert reader.problem is not None
    assert str(path) in reader.problem


def test_a_segment_of_a_newer_format_asks_for_an_upgrade(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as newer:
        newer.setattr("ingest.segment.FORMAT", "2")
        header = header_frame(HOST, channels(), T0)
    path = tmp_path / "segment.arrow"
    path.write_bytes(header + batch_frame(_ticks(0)))
    reader = SegmentReader(path)
    reader.refresh()
    assert reader.frames == []
    assert reader.problem is not None
    assert "upgrade" in reader.problem


def test_garbage_is_never_an_error(tmp_path: Path) -> None:
    path = tmp_path / "segment.arrow"
    for content in (
        b"",
        b"\xff" * 4096,
        b"\0" * 4096,
        b"\xff\xff\xff\xff\xff\xff\xff\x7f" * 64,
        b"ARROW1" * 99,
    ):
        path.write_bytes(content)
        reader = SegmentReader(path)
        reader.refresh()
        assert reader.frames == []


def test_a_deleted_segment_gives_nothing_more(data: DataFolder) -> None:
    spool = writer(data)
    second(spool, 0)
    (reader,) = readers(data)
    reader.path.unlink()
    reader.refresh()
    assert reader.read(reader.frames[0]) is None


def test_stamps_of_a_torn_tail_are_absent(data: DataFolder) -> None:
    spool = writer(data)
    second(spool, 0)
    second(spool, 1)
    (reader,) = readers(data)
    with reader.path.open("r+b") as file:
        file.truncate(reader.path.stat().st_size - 1)
    assert max(stamps(data)) == pytest.approx(0.95)


def _ticks(at: int) -> Ticks:
    values = np.arange(6, dtype=np.float32).reshape(2, 3) + at
    return Ticks(np.array([T0 + at, T0 + at]), np.array([0.1, 0.1], np.float32), values)
