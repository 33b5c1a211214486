"""The spool's writer: rotation, the bound, and writes that fail."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable

import numpy as np
import pytest

from hostsight.errors import FullError, StorageError
from hostsight.folders import DataFolder
from hostsight.settings import Duration, Size, SpoolSettings
from ingest.segment import list_segments
from tests.unit.storage.makers import T0, channels, readers, second, stamps, tick, writer

Pwrite = Callable[[int, memoryview, int], int]


def test_what_was_not_flushed_is_not_there(data: DataFolder) -> None:
    spool = writer(data)
    tick(spool, 0)
    assert stamps(data) == []
    spool.flush()
    assert stamps(data) == [0]


def test_a_failure_told_by_close_is_a_storage_error_and_the_next_segment_works(
    data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    close = os.close

    def fails(fd: int) -> None:
        close(fd)
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    spool = writer(data)
    second(spool, 0)
    with monkeypatch.context() as patched:
        patched.setattr("os.close", fails)
        with pytest.raises(FullError, match="closing"):
            spool.close()
    second(spool, 1)
    assert len(list_segments(data.spool)) == 2


def test_a_flush_of_nothing_writes_nothing(data: DataFolder) -> None:
    spool = writer(data)
    spool.flush()
    assert list_segments(data.spool) == []
    assert spool.bytes == 0


def test_a_second_of_many_ticks_is_one_batch(data: DataFolder) -> None:
    spool = writer(data)
    second(spool, 0, ticks=1000)
    (reader,) = readers(data)
    assert len(reader.frames) == 1
    assert len(stamps(data)) == 1000


def test_a_new_minute_starts_a_new_segment(data: DataFolder) -> None:
    spool = writer(data)
    for at in (58, 59, 60, 61):
        second(spool, at)
    assert [(name.start_ns - T0) / 1e9 for name in list_segments(data.spool)] == [58.05, 60.05]
    assert [len(reader.frames) for reader in readers(data)] == [2, 2]


def test_the_length_of_a_segment_is_a_setting(data: DataFolder) -> None:
    spool = writer(data, SpoolSettings(segment=Duration(10)))
    for at in range(0, 30, 5):
        second(spool, at)
    assert len(list_segments(data.spool)) == 3


def test_other_channels_start_a_new_segment_and_lose_no_tick(data: DataFolder) -> None:
    spool = writer(data)
    tick(spool, 0.1)
    spool.open(channels(2))
    tick(spool, 0.2, [8, 9])
    spool.flush()
    assert [len(reader.channels) for reader in readers(data)] == [3, 2]
    assert stamps(data) == pytest.approx([0.1, 0.2])


def test_only_a_batch_cut_short_by_the_writer_is_partial(data: DataFolder) -> None:
    spool = writer(data)
    second(spool, 0)
    tick(spool, 1.1)
    spool.close()
    (reader,) = readers(data)
    assert [frame.partial for frame in reader.frames] == [False, True]


def test_a_clock_set_back_starts_a_new_segment(data: DataFolder) -> None:
    spool = writer(data)
    second(spool, 30)
    second(spool, 10)
    names = list_segments(data.spool)
    assert [name.number for name in names] == [1, 2]
    assert names[1].start_ns < names[0].start_ns


def test_a_new_writer_carries_on_with_the_next_number(data: DataFolder) -> None:
    second(writer(data), 0)
    second(writer(data), 1)
    assert [name.number for name in list_segments(data.spool)] == [1, 2]


def test_over_the_bound_the_oldest_segments_go_and_are_counted(data: DataFolder) -> None:
    free = writer(data)
    for at in range(0, 600, 60):
        second(free, at)
    size = free.bytes // 10
    free.close()
    spool = writer(data, SpoolSettings(max_bytes=Size(6 * size)))
    second(spool, 600)
    assert spool.dropped_segments == 5
    assert spool.dropped_bytes == pytest.approx(5 * size, rel=0.05)
    assert spool.bytes == sum(path.stat().st_size for path in data.spool.iterdir())
    assert min(stamps(data)) == pytest.approx(300.05)


def test_segments_that_others_deleted_are_not_counted_as_dropped(data: DataFolder) -> None:
    second(writer(data), 0)
    size = sum(path.stat().st_size for path in data.spool.iterdir())
    spool = writer(data, SpoolSettings(max_bytes=Size(10 * size)))
    for at in range(60, 600, 60):
        second(spool, at)
    for path in sorted(data.spool.iterdir())[:-1]:
        path.unlink()
    second(spool, 541)
    assert spool.dropped_segments == 0
    assert spool.bytes < 10 * size


def test_the_bound_holds_within_one_minute_too(data: DataFolder) -> None:
    spool = writer(data, SpoolSettings(max_bytes=Size(20_000)))
    for at in range(60):
        second(spool, at)
        assert spool.bytes <= 20_000
    assert spool.dropped_segments > 0
    assert max(stamps(data)) == pytest.approx(59.95)


def test_a_full_disk_loses_its_own_ticks_alone(data: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = writer(data)
    second(spool, 0)
    with monkeypatch.context() as full:
        full.setattr(os, "pwrite", _fails_after(100, os.pwrite))
        with pytest.raises(FullError, match="no space left"):
            second(spool, 1)
    second(spool, 2)
    assert spool.lost_values == 30
    assert {int(at) for at in stamps(data)} == {0, 2}
    assert [reader.damaged for reader in readers(data)] == [0]


def test_a_segment_that_cannot_even_begin_leaves_no_file(
    data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = writer(data)
    with monkeypatch.context() as full:
        full.setattr(os, "pwrite", _fails_after(10, os.pwrite))
        with pytest.raises(FullError):
            second(spool, 0)
    assert list(data.spool.iterdir()) == []
    second(spool, 1)
    assert len(stamps(data)) == 10


def test_a_tail_that_cannot_be_cut_hides_nothing_that_follows(
    data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = writer(data)
    second(spool, 0)
    with monkeypatch.context() as broken:
        broken.setattr(os, "pwrite", _fails_after(100, os.pwrite))
        broken.setattr(os, "ftruncate", _refuses)
        with pytest.raises(FullError):
            second(spool, 1)
    second(spool, 2)
    assert len(list_segments(data.spool)) == 2
    assert {int(at) for at in stamps(data)} == {0, 2}


def test_the_new_layout_holds_even_if_the_old_ticks_cannot_be_written(
    data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = writer(data)
    tick(spool, 0)
    with monkeypatch.context() as full:
        full.setattr(os, "pwrite", _fails_after(0, os.pwrite))
        with pytest.raises(FullError):
            spool.open(channels(2))
    tick(spool, 1, [8, 9])
    spool.flush()
    assert stamps(data) == [1]


def test_a_deleted_spool_folder_is_made_again(data: DataFolder) -> None:
    spool = writer(data)
    second(spool, 0)
    shutil.rmtree(data.spool)
    second(spool, 1)
    assert {int(at) for at in stamps(data)} == {1}


def test_a_spool_that_cannot_be_created_says_which_and_what_to_do(data: DataFolder) -> None:
    spool = writer(data)
    data.spool.rmdir()
    data.spool.touch()
    with pytest.raises(StorageError, match=str(data.spool)):
        second(spool, 0)


def test_files_are_for_their_owner_alone(data: DataFolder) -> None:
    second(writer(data), 0)
    assert [path.stat().st_mode & 0o777 for path in data.spool.iterdir()] == [0o600]


def _fails_after(count: int, pwrite: Pwrite) -> Pwrite:
    """A disk with room for `count` more bytes: it takes those, then says that it is full."""
    left = count

    def limited(fd: int, content: memoryview, offset: int) -> int:
        nonlocal left
        if left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = pwrite(fd, content[:left], offset)
        left -= written
        return written

    return limited


def _refuses(fd: int, length: int) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_more_ticks_than_usual_between_two_flushes_keep_their_values(data: DataFolder) -> None:
    spool = writer(data)
    second(spool, 0, ticks=40)
    second(spool, 5, ticks=2)
    (reader,) = readers(data)
    first, last = (reader.read(frame) for frame in reader.frames)
    assert first is not None
    assert last is not None
    np.testing.assert_allclose(first.values[:, 1], np.arange(40) + 0.1, rtol=1e-6)
    np.testing.assert_allclose(last.values[:, 0], [500, 501])
