"""The lake: names, hours, superseded and damaged files, left-overs of a killed run."""

from __future__ import annotations

import errno
import os
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hostsight.clock import SECOND_NS
from hostsight.configuration import LONGEST_HOST
from hostsight.errors import FullError, StorageError
from hostsight.folders import DataFolder
from hostsight.timerange import TimeRange
from ingest.lake import CHANNELS, HOUR_NS, Lake, LakeFile
from ingest.store import SAMPLES
from tests.unit.storage.makers import HOST, T0, features, flip, samples, span, write_seconds

HOUR = 2760
"""Seconds from T0 to the next full hour, 23:00:00."""


@pytest.fixture
def lake(data: DataFolder) -> Lake:
    return Lake(data)


def test_a_file_is_named_by_what_it_holds(lake: Lake) -> None:
    (file,) = lake.write("samples", HOST, span(0, 10), samples(np.arange(10.0)))
    expected = f"samples/date=2023-11-14/hour=22/gpu01~{T0}-{T0 + 10 * SECOND_NS}.parquet"
    assert str(file.path.relative_to(lake.root)) == expected
    assert LakeFile.parse("samples", file.path) == file


@pytest.mark.parametrize(
    "name", ["a.txt", "gpu01.parquet", "gpu01~5.parquet", "gpu01~9-5.parquet", ".gpu01~1-2.parquet.7.part"]
)
def test_other_files_are_not_the_lakes(name: str) -> None:
    assert LakeFile.parse("samples", Path(name)) is None


def test_samples_come_back_as_they_were_written(lake: Lake) -> None:
    table = samples(np.arange(100) / 10)
    lake.write("samples", HOST, span(0, 10), table)
    assert lake.read("samples", HOST, span(0, 10)) == table


def test_samples_are_read_from_the_start_up_to_the_end(lake: Lake) -> None:
    lake.write("samples", HOST, span(0, 10), samples(np.arange(10.0)))
    assert lake.read("samples", HOST, span(3, 6))["value"].to_pylist() == [3, 4, 5, 3, 4, 5]


def test_windows_are_read_after_the_start_up_to_and_with_the_end(lake: Lake) -> None:
    lake.write("features", HOST, span(0, 10), features(range(1, 11)))
    assert lake.read("features", HOST, span(3, 6))["mean"].to_pylist() == [4, 5, 6, 4, 5, 6]


def test_a_file_never_leaves_its_hour(lake: Lake) -> None:
    table = samples(np.arange(HOUR - 5, HOUR + 5, dtype=np.float64))
    first, later = lake.write("samples", HOST, span(HOUR - 5, HOUR + 5), table)
    assert (first.span, later.span) == (span(HOUR - 5, HOUR), span(HOUR, HOUR + 5))
    assert (first.path.parent.name, later.path.parent.name) == ("hour=22", "hour=23")
    assert lake.read("samples", HOST, span(HOUR - 5, HOUR + 5)) == table


def test_a_window_that_ends_with_the_hour_belongs_to_that_hour(lake: Lake) -> None:
    ends = [HOUR - 1, HOUR, HOUR + 1]
    first, later = lake.write("features", HOST, span(HOUR - 2, HOUR + 1), features(ends))
    assert [pq.read_metadata(file.path).num_rows for file in (first, later)] == [4, 2]
    assert lake.read("features", HOST, span(HOUR - 1, HOUR))["mean"].to_pylist() == [HOUR, HOUR]


def test_an_hour_without_rows_has_no_file(lake: Lake) -> None:
    assert lake.write("samples", HOST, span(0, 10), SAMPLES.empty_table()) == []
    assert lake.files("samples") == []


def test_writing_again_changes_nothing(lake: Lake) -> None:
    for _ in range(2):
        lake.write("samples", HOST, span(0, 10), samples(np.arange(10.0)))
    assert len(lake.files("samples")) == 1
    assert lake.read("samples", HOST, span(0, 10)).num_rows == 20


def test_a_file_inside_another_is_superseded(lake: Lake) -> None:
    write_seconds(lake, 0, 5)
    lake.write("samples", HOST, span(0, 3), samples(np.arange(30) / 10))
    assert [file.span for file in lake.files("samples")] == [span(0, 3), span(3, 4), span(4, 5)]
    assert lake.read("samples", HOST, span(0, 5)).num_rows == 100


def test_a_host_of_the_longest_name_has_files(lake: Lake) -> None:
    host = "h" * LONGEST_HOST
    lake.write("samples", host, span(0, 1), samples(np.arange(0.0, 1.0, 0.1)))
    assert [file.host for file in lake.files("samples")] == [host]


def test_hosts_supersede_only_their_own_files(lake: Lake) -> None:
    write_seconds(lake, 0, 2, host="a")
    lake.write("samples", "b~/..", span(0, 60), samples(np.arange(60.0)))
    assert len(lake.files("samples", host="a")) == 2
    assert [file.host for file in lake.files("samples", host="b~/..")] == ["b~/.."]


def test_files_are_found_by_their_span(lake: Lake) -> None:
    write_seconds(lake, HOUR - 3, HOUR + 3)
    found = lake.files("samples", span=span(HOUR - 1, HOUR + 2))
    assert [file.span for file in found] == [span(at, at + 1) for at in (HOUR - 1, HOUR, HOUR + 1)]


def test_read_files_come_sorted_by_channel_and_time(lake: Lake) -> None:
    write_seconds(lake, 0, 5)
    table = lake.read("samples", HOST, span(0, 5))
    assert table == samples(np.arange(50) / 10)


def test_an_empty_lake_gives_typed_empty_tables(lake: Lake) -> None:
    assert lake.read("samples", HOST, span(0, 5)) == SAMPLES.empty_table()
    assert lake.read("features", HOST, span(0, 5)).column("window_end").type == pa.timestamp("ns")
    wanted = pa.schema([("score", pa.float64())])
    assert lake.read("scores", HOST, span(0, 5), wanted) == wanted.empty_table()


def test_a_schema_chooses_columns(lake: Lake) -> None:
    lake.write("features", HOST, span(0, 2), features([1, 2]))
    wanted = pa.schema([("window_end", pa.timestamp("ns")), ("channel_id", pa.int64())])
    assert lake.read("features", HOST, span(0, 2), wanted).schema == wanted


@pytest.mark.parametrize("damage", ["flipped", "torn", "empty", "garbage"])
def test_a_damaged_file_is_set_aside_and_named(lake: Lake, damage: str) -> None:
    write_seconds(lake, 0, 3)
    path = lake.files("samples")[1].path
    if damage == "flipped":
        flip(path, 60)
    else:
        whole = path.read_bytes()
        path.write_bytes({"torn": whole[:-9], "empty": b"", "garbage": b"\xff" * 999}[damage])
    assert lake.read("samples", HOST, span(0, 3)).num_rows == 40
    assert not path.exists()
    assert path.with_name(f"{path.name}.bad").exists()
    (problem,) = lake.problems
    assert str(path) in problem


def test_a_file_that_vanishes_while_it_is_read_is_looked_for_again(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_seconds(lake, 0, 2)
    stale = lake.files("samples")
    lake.write("samples", HOST, span(0, 2), samples(np.arange(20) / 10))
    for file in stale:
        file.path.unlink()
    listings = iter([stale, lake.files("samples")])
    monkeypatch.setattr(lake, "files", lambda *_, **__: next(listings))
    assert lake.read("samples", HOST, span(0, 2)).num_rows == 40


def test_what_a_killed_run_left_is_discarded(lake: Lake) -> None:
    write_seconds(lake, HOUR - 3, HOUR + 3)
    lake.write("features", HOST, span(HOUR, HOUR + 1), features([HOUR + 1]))
    write_seconds(lake, HOUR + 2, HOUR + 3, host="other")
    part = lake.files("samples")[0].path.with_name(f".{HOST}~1-2.parquet.99.part")
    part.touch()
    assert lake.discard_from(HOST, T0 + HOUR * SECOND_NS) == 4
    assert [file.span for file in lake.files("samples", host=HOST)] == [
        span(at, at + 1) for at in (HOUR - 3, HOUR - 2, HOUR - 1)
    ]
    assert lake.files("features") == []
    assert len(lake.files("samples", host="other")) == 1
    assert not part.exists()


def test_a_full_disk_leaves_neither_file_nor_part(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, mode: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "chmod", full)
    with pytest.raises(FullError, match="no space left"):
        lake.write("samples", HOST, span(0, 10), samples(np.arange(10.0)))
    assert [path for path in lake.root.rglob("*") if path.is_file()] == []


def test_a_lake_that_cannot_be_created_says_which(lake: Lake) -> None:
    lake.root.rmdir()
    lake.root.touch()
    with pytest.raises(StorageError, match=str(lake.root)):
        lake.write("samples", HOST, span(0, 10), samples(np.arange(10.0)))


def test_channels_are_one_file_a_host(lake: Lake) -> None:
    stamp = datetime(2026, 1, 31, tzinfo=UTC)
    rows = [
        {"channel_id": index, "host": host, "subsystem": "cpu", "device": "cpu0", "metric": "busy_percent",
         "kind": "rate", "unit": "%", "period_seconds": 0.01, "source": "/proc/stat", "first_seen": stamp, "last_seen": stamp}
        for index, host in enumerate(["a", "b", "a"])
    ]  # fmt: skip
    lake.write_channels(pa.Table.from_pylist(rows, schema=CHANNELS))
    found = {
        path.name: pq.read_table(path)["channel_id"].to_pylist()
        for path in (lake.root / "channels").iterdir()
    }
    assert found == {"a.parquet": [0, 2], "b.parquet": [1]}


def test_bytes_counts_every_file(lake: Lake) -> None:
    write_seconds(lake, 0, 3)
    assert lake.bytes() == sum(file.path.stat().st_size for file in lake.files("samples")) > 0


def test_the_first_hour_of_the_epoch_and_odd_folders_do_no_harm(lake: Lake) -> None:
    early = TimeRange(0, HOUR_NS)
    lake.write("samples", HOST, early, samples(np.array([-T0 / SECOND_NS]), ids=[1]))
    for odd in ("samples/date=x/hour=1", "samples/date=2023-11-14/hour=99", "samples/notes"):
        (lake.root / odd).mkdir(parents=True)
    assert [file.span for file in lake.files("samples")] == [early]
