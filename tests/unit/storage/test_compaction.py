"""Compaction: what the lake reads never changes, whatever is merged, damaged or interrupted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hostsight.clock import SECOND_NS
from hostsight.errors import StorageError
from hostsight.folders import DataFolder
from ingest import compaction
from ingest.compaction import CompactReport, compact
from ingest.lake import Lake
from tests.unit.storage.makers import HOST, T0, age_files, features, flip, samples, span, write_seconds

HOUR = 2760
"""Seconds from T0 to the next full hour."""
DURING = T0 + 600 * SECOND_NS
AFTER = T0 + (HOUR + 600) * SECOND_NS


@pytest.fixture
def lake(data: DataFolder) -> Lake:
    return Lake(data)


def settled_compact(lake: Lake, now_ns: int) -> CompactReport:
    """Compact a lake whose files have all been there for a while."""
    age_files(lake, now_ns, 60)
    return compact(lake, now_ns)


def test_the_seconds_of_a_minute_become_one_file(lake: Lake) -> None:
    write_seconds(lake, 0, 120)
    before = lake.read("samples", HOST, span(0, 120))
    report = settled_compact(lake, DURING)
    assert (report.merged, report.written) == (120, 2)
    assert [file.span for file in lake.files("samples")] == [span(0, 60), span(60, 120)]
    assert lake.read("samples", HOST, span(0, 120)) == before


def test_an_hour_that_is_over_becomes_one_file(lake: Lake) -> None:
    write_seconds(lake, 0, 30)
    for minute in range(1, 46):
        table = samples(np.arange(60.0) + 60 * minute)
        lake.write("samples", HOST, span(60 * minute, 60 * minute + 60), table)
    before = lake.read("samples", HOST, span(0, HOUR))
    settled_compact(lake, AFTER)
    (file,) = lake.files("samples")
    assert file.span == span(0, HOUR)
    assert pq.ParquetFile(file.path).read().cast(before.schema) == before


def test_more_files_than_may_be_open_are_merged_in_rounds(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "_FILES", 4)
    write_seconds(lake, 0, 30)
    before = lake.read("samples", HOST, span(0, 30))
    settled_compact(lake, AFTER)
    assert [file.span for file in lake.files("samples")] == [span(0, 30)]
    assert lake.read("samples", HOST, span(0, 30)) == before


def test_a_second_pass_has_nothing_to_merge(lake: Lake) -> None:
    write_seconds(lake, 0, 60)
    settled_compact(lake, AFTER)
    assert settled_compact(lake, AFTER) == CompactReport()


def test_a_late_file_joins_its_hour(lake: Lake) -> None:
    write_seconds(lake, 0, 10)
    settled_compact(lake, AFTER)
    write_seconds(lake, 20, 21)
    settled_compact(lake, AFTER)
    assert [file.span for file in lake.files("samples")] == [span(0, 21)]
    assert lake.read("samples", HOST, span(0, 30)).num_rows == 220


def test_files_of_a_run_that_may_not_be_committed_are_left_alone(lake: Lake) -> None:
    write_seconds(lake, 0, 60)
    age_files(lake, DURING, 10)
    assert compact(lake, DURING) == CompactReport()


def test_superseded_files_stay_for_readers_and_go_two_minutes_later(lake: Lake) -> None:
    write_seconds(lake, 0, 60)
    settled_compact(lake, DURING)
    folder = lake.files("samples")[0].path.parent
    age_files(lake, DURING, 100)
    assert compact(lake, DURING).deleted == 0
    assert len(list(folder.iterdir())) == 61
    age_files(lake, DURING, 130)
    assert compact(lake, DURING).deleted == 60
    assert len(list(folder.iterdir())) == 1


def test_hosts_and_kinds_are_not_mixed(lake: Lake) -> None:
    for host in ("a", "b"):
        write_seconds(lake, 0, 3, host=host)
        lake.write("features", host, span(0, 1), features([1]))
        lake.write("features", host, span(1, 2), features([2]))
    settled_compact(lake, AFTER)
    assert [(file.host, file.span) for file in lake.files("samples")] == [
        ("a", span(0, 3)),
        ("b", span(0, 3)),
    ]
    assert [(file.host, file.span) for file in lake.files("features")] == [
        ("a", span(0, 2)),
        ("b", span(0, 2)),
    ]
    assert lake.read("features", "b", span(0, 2))["mean"].to_pylist() == [1, 2, 1, 2]


def test_a_file_that_vanished_meanwhile_hides_no_other(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "_FILES", 4)
    write_seconds(lake, 0, 12)
    gone = lake.files("samples")[5]
    age_files(lake, AFTER, 60)
    real = lake.folder_files
    gone.path.unlink()
    monkeypatch.setattr(
        lake, "folder_files", lambda kind, folder: [*real(kind, folder), gone] if kind == "samples" else []
    )
    compact(lake, AFTER)
    monkeypatch.undo()
    assert lake.read("samples", HOST, span(0, 12)).num_rows == 220


def test_scores_are_merged_by_window_and_detector(lake: Lake) -> None:
    for at in (1, 2):
        ends = pa.array([T0 + at * SECOND_NS] * 2, pa.timestamp("ns"))
        table = pa.table({"window_end": ends, "detector": ["fused", "zscore"], "score": [at, at + 0.5]})
        lake.write("scores", HOST, span(at - 1, at), table)
    settled_compact(lake, AFTER)
    (file,) = lake.files("scores")
    assert lake.read("scores", HOST, file.span)["score"].to_pylist() == [1, 1.5, 2, 2.5]


def test_rows_that_two_files_hold_come_once(lake: Lake) -> None:
    lake.write("samples", HOST, span(0, 10), samples(np.arange(10.0)))
    lake.write("samples", HOST, span(5, 15), samples(np.arange(5, 15.0)))
    settled_compact(lake, AFTER)
    assert lake.read("samples", HOST, span(0, 15)) == samples(np.arange(15.0))


def test_a_minute_is_not_merged_over_a_longer_file_that_it_would_hide(lake: Lake) -> None:
    for start, end in ((0, 10), (10, 75), (30, 80)):
        lake.write("samples", HOST, span(start, end), samples(np.arange(start, end, dtype=np.float64)))
    settled_compact(lake, DURING)
    assert len(lake.files("samples")) == 3
    settled_compact(lake, AFTER)
    assert lake.read("samples", HOST, span(0, 80)) == samples(np.arange(80.0))


def test_columns_that_an_older_version_did_not_write_are_null(lake: Lake) -> None:
    lake.write("features", HOST, span(0, 1), features([1], ids=[5]))
    newer = features([2], ids=[5]).append_column("slope", pa.array([0.5], pa.float32()))
    lake.write("features", HOST, span(1, 2), newer)
    settled_compact(lake, AFTER)
    assert lake.read("features", HOST, span(0, 2))["slope"].to_pylist() == [None, 0.5]


@pytest.mark.parametrize("offset", [60, 200, -2])
def test_a_damaged_file_is_set_aside_and_blocks_nothing(lake: Lake, offset: int) -> None:
    write_seconds(lake, 0, 10)
    path = lake.files("samples")[4].path
    flip(path, path.stat().st_size + offset if offset < 0 else offset)
    report = settled_compact(lake, AFTER)
    assert [str(path) in problem for problem in report.problems] == [True]
    assert path.with_name(f"{path.name}.bad").exists()
    assert sorted(set(lake.read("samples", HOST, span(0, 10))["value"].to_pylist())) == pytest.approx(
        [k / 10 for k in range(100) if k // 10 != 4]
    )


def test_an_hour_of_damaged_files_alone_gives_no_file(lake: Lake) -> None:
    write_seconds(lake, 0, 3)
    for file in lake.files("samples"):
        file.path.write_bytes(b"")
    assert len(settled_compact(lake, AFTER).problems) == 2
    assert lake.read("samples", HOST, span(0, 3)).num_rows == 0
    assert lake.files("samples") == []


def test_a_run_killed_between_rename_and_delete_reads_the_same(lake: Lake) -> None:
    write_seconds(lake, 0, 60)
    before = lake.read("samples", HOST, span(0, 60))
    settled_compact(lake, DURING)
    again = Lake(DataFolder(lake.root.parent))
    assert len(again.files("samples")) == 1
    assert again.read("samples", HOST, span(0, 60)) == before
    age_files(again, DURING, 600)
    compact(again, DURING)
    assert again.read("samples", HOST, span(0, 60)) == before


def test_a_run_killed_before_the_rename_leaves_a_part_that_goes_later(lake: Lake) -> None:
    write_seconds(lake, 0, 3)
    part = lake.files("samples")[0].path.with_name(".gpu01~1-2.parquet.99.part")
    part.write_bytes(b"half")
    age_files(lake, DURING, 600)
    compact(lake, DURING)
    assert part.exists()
    age_files(lake, DURING, 3601)
    compact(lake, DURING)
    assert not part.exists()


def test_a_disk_that_fills_up_during_a_merge_changes_nothing(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_seconds(lake, 0, 60)
    names = _names(lake)

    def full(path: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(StorageError, match="no space left"):
            settled_compact(lake, DURING)
    assert _names(lake) == names
    assert settled_compact(lake, DURING).written == 1


def test_a_merge_of_many_rows_is_written_in_groups_of_channels(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.parquet._GROUP_ROWS", 100)
    ids = [index << 56 for index in range(1, 128)]
    for at in range(10):
        lake.write("samples", HOST, span(at, at + 1), samples(np.arange(10) / 10 + at, ids=ids))
    before = lake.read("samples", HOST, span(0, 10))
    settled_compact(lake, AFTER)
    (file,) = lake.files("samples")
    assert pq.read_metadata(file.path).num_row_groups == 16
    assert lake.read("samples", HOST, span(0, 10)) == before


def _names(lake: Lake) -> set[str]:
    return {path.name for path in lake.root.rglob("*") if path.is_file()}
