"""A disk that is really full, or may not be written: said in a sentence, nothing torn, and on it goes afterwards."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from hostsight.errors import FullError, StorageError
from hostsight.folders import DataFolder
from ingest.compaction import compact
from ingest.lake import Lake
from jobs.progress import Progress, read_progress, write_progress
from tests.unit.storage.makers import (
    HOST,
    T0,
    age_files,
    channels,
    readers,
    samples,
    second,
    span,
    stamps,
    write_seconds,
    writer,
)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[DataFolder]:
    """A data folder on a disk of 256 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a tmpfs may not be mounted here")
    try:
        yield DataFolder(disk / "data").create()
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.fixture
def small_files() -> Iterator[None]:
    """Files may not grow over 20 kB, a full disk for those who may not mount one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_the_spool_says_that_the_disk_is_full_and_resumes_by_itself(small: DataFolder) -> None:
    ballast = _fill(small)
    spool = writer(small)
    with pytest.raises(FullError, match="no space left"):
        second(spool, 0, ticks=100)
    assert list(small.spool.iterdir()) == []
    ballast.unlink()
    second(spool, 1)
    assert {int(at) for at in stamps(small)} == {1}
    assert spool.lost_values == 300


def test_the_jobs_report_on_a_full_disk(small: DataFolder) -> None:
    report = Progress(pid=1, store="embedded", started_ns=1, updated_ns=1, rss_bytes=1, cpu_percent=1.0)
    write_progress(small, report)
    _fill(small)
    write_progress(small, msgspec.structs.replace(report, updated_ns=2))
    assert read_progress(small) == msgspec.structs.replace(report, updated_ns=2)


def test_a_segment_on_a_full_disk_ends_with_a_whole_batch(small: DataFolder) -> None:
    spool = writer(small)
    written = []
    for at in range(60):
        noise = np.random.default_rng(at).random((300, 3))
        for k, row in enumerate(noise):
            spool.append(span(at, at).start_ns + k * 1_000_000, 0.001, row.astype(np.float32))
        try:
            spool.flush()
            written.append(at)
        except FullError:
            continue
    assert 0 < len(written) < 60
    (reader,) = readers(small)
    assert (len(reader.frames), reader.damaged) == (len(written), 0)
    assert reader.path.stat().st_size == reader.frames[-1].offset + reader.frames[-1].length


def test_a_full_disk_leaves_no_part_of_a_lake_file(small: DataFolder) -> None:
    lake = Lake(small)
    ballast = _fill(small)
    table = samples(
        np.arange(10_000) / 1000, values=np.random.default_rng(0).random(20_000).astype(np.float32)
    )
    with pytest.raises(FullError, match="no space left"):
        lake.write("samples", HOST, span(0, 10), table)
    assert [path for path in lake.root.rglob("*") if path.is_file()] == []
    ballast.unlink()
    lake.write("samples", HOST, span(0, 10), table)
    assert lake.read("samples", HOST, span(0, 10)) == table


def test_a_merge_on_a_full_disk_changes_nothing(small: DataFolder) -> None:
    lake = Lake(small)
    write_seconds(lake, 0, 20)
    before = lake.read("samples", HOST, span(0, 20))
    now_ns = T0 + 7200 * 1_000_000_000
    age_files(lake, now_ns, 60)
    ballast = _fill(small)
    with pytest.raises(FullError):
        compact(lake, now_ns)
    assert len(lake.files("samples")) == 20
    ballast.unlink()
    compact(lake, now_ns)
    assert len(lake.files("samples")) == 1
    assert lake.read("samples", HOST, span(0, 20)) == before


@pytest.mark.usefixtures("small_files")
def test_a_segment_over_the_file_limit_loses_only_what_does_not_fit(data: DataFolder) -> None:
    spool = writer(data)
    for at in range(3):
        second(spool, at, ticks=10)
    spool.open(channels(4000))
    spool.append(span(5, 5).start_ns, 0.1, np.random.default_rng(0).random(4000).astype(np.float32))
    with pytest.raises(FullError, match="no space left"):
        spool.flush()
    spool.open(channels())
    second(spool, 60)
    assert {int(at) for at in stamps(data)} == {0, 1, 2, 60}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_named_with_the_remedy(data: DataFolder) -> None:
    spool = writer(data)
    data.spool.chmod(0o500)
    with pytest.raises(StorageError, match="--data"):
        second(spool, 0)


def test_a_read_only_disk_is_named_with_the_remedy(small: DataFolder) -> None:
    spool = writer(small)
    disk = str(small.root.parent)
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    with pytest.raises(StorageError, match="--data"):
        second(spool, 0)
    with pytest.raises(StorageError, match="--data"):
        Lake(small).write("samples", HOST, span(0, 1), samples(np.arange(1.0)))
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    second(spool, 1)
    assert {int(at) for at in stamps(small)} == {1}


def _fill(data: DataFolder) -> Path:
    """A file that leaves no room on the disk of `data`."""
    ballast = data.root / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 4096):
                pass
        except OSError:
            return ballast
    return ballast
