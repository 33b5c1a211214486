"""Retention: by age, by size, and features thinned to one window in ten."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from hostsight.clock import SECOND_NS
from hostsight.folders import DataFolder
from hostsight.settings import Duration, RetentionSettings, Size
from ingest.lake import Kind, Lake
from ingest.retention import retain
from tests.unit.storage.makers import HOST, T0, features, flip, samples, span

HOUR = 3600
DAY = 24 * HOUR
START = -840 + DAY
"""Seconds from T0 to a full hour: 22:00:00 the day after."""


@pytest.fixture
def lake(data: DataFolder) -> Lake:
    return Lake(data)


def fill(lake: Lake, kind: Kind, hours: range) -> None:
    """A minute of data at the start of each of those hours before START."""
    for hour in hours:
        at = START - hour * HOUR
        ticks = np.arange(60.0) + at
        table = samples(ticks) if kind == "samples" else features((ticks + 1).tolist())
        lake.write(kind, HOST, span(at, at + 60), table)


def ages(lake: Lake, kind: Kind) -> list[int]:
    """How many hours before START each file starts."""
    return [round((START - (file.span.start_ns - T0) / SECOND_NS) / HOUR) for file in lake.files(kind)]


def at(hours: float) -> int:
    return T0 + round((START + hours * HOUR) * SECOND_NS)


def test_each_kind_has_its_own_age(lake: Lake) -> None:
    settings = RetentionSettings(
        samples=Duration(3 * HOUR), features=Duration(DAY), scores=Duration(5 * HOUR)
    )
    for kind in ("samples", "scores"):
        fill(lake, kind, range(8, -1, -1))
    retain(lake, settings, at(0.1))
    assert ages(lake, "samples") == [3, 2, 1, 0]
    assert ages(lake, "scores") == [5, 4, 3, 2, 1, 0]


def test_empty_folders_go_with_their_hours(lake: Lake) -> None:
    fill(lake, "samples", range(48, -1, -24))
    retain(lake, RetentionSettings(samples=Duration(2 * HOUR)), at(0.1))
    assert [folder.name for folder in (lake.root / "samples").iterdir()] == ["date=2023-11-15"]


def test_damaged_files_go_with_their_hour(lake: Lake) -> None:
    fill(lake, "samples", range(5, -1, -5))
    path = lake.files("samples")[0].path
    path.rename(f"{path}.bad")
    assert retain(lake, RetentionSettings(samples=Duration(2 * HOUR)), at(0.1)).deleted == 1
    assert not path.parent.exists()


def test_old_features_keep_one_window_in_ten(lake: Lake) -> None:
    fill(lake, "features", range(30, -1, -5))
    report = retain(lake, RetentionSettings(features=Duration(DAY)), at(0.1))
    assert report.thinned == 2
    first = START - 30 * HOUR
    kept = lake.read("features", HOST, span(first, first + 60), pa.schema([("mean", pa.float32())]))
    expected = features(
        [float(end) for end in range(first + 1, first + 61) if (T0 // SECOND_NS + end) % 10 == 0]
    )
    assert kept["mean"].to_pylist() == expected["mean"].to_pylist()
    assert len(kept) == 12
    assert lake.read("features", HOST, span(START, START + 60)).num_rows == 120


def test_windows_with_a_longer_stride_are_thinned_by_it(lake: Lake) -> None:
    first = START - 30 * HOUR
    lake.write("features", HOST, span(first, first + 600), features([first + 10.0 * k for k in range(1, 61)]))
    fill(lake, "features", range(15, -1, -15))
    retain(lake, RetentionSettings(features=Duration(DAY)), at(0.1))
    assert lake.read("features", HOST, span(first, first + 600)).num_rows == 12


def test_features_are_thinned_once(lake: Lake) -> None:
    fill(lake, "features", range(30, -1, -15))
    settings = RetentionSettings(features=Duration(DAY))
    assert [retain(lake, settings, at(0.1)).thinned for _ in range(2)] == [1, 0]


def test_an_hour_that_is_not_compacted_yet_is_not_thinned(lake: Lake) -> None:
    first = START - 30 * HOUR
    for end in range(1, 21):
        lake.write("features", HOST, span(first + end - 1, first + end), features([first + end]))
    fill(lake, "features", range(15, -1, -15))
    assert retain(lake, RetentionSettings(features=Duration(DAY)), at(0.1)).thinned == 0


def test_a_damaged_file_of_features_is_set_aside(lake: Lake) -> None:
    fill(lake, "features", range(30, -1, -15))
    path = lake.files("features")[0].path
    flip(path, 60)
    report = retain(lake, RetentionSettings(features=Duration(DAY)), at(0.1))
    assert [str(path) in problem for problem in report.problems] == [True]
    assert ages(lake, "features") == [15, 0]


def test_over_the_size_the_oldest_hours_go_and_scores_last(lake: Lake) -> None:
    for kind in ("samples", "features", "scores"):
        fill(lake, kind, range(10, -1, -1))
    size = sum(file.path.stat().st_size for kind in ("samples", "features") for file in lake.files(kind))
    fits = lake.bytes() - size // 2
    retain(lake, RetentionSettings(max_bytes=Size(fits)), at(0.1))
    assert lake.bytes() <= fits
    assert ages(lake, "samples") == ages(lake, "features") == [4, 3, 2, 1, 0]
    assert len(lake.files("scores")) == 11


def test_the_newest_hours_stay_whatever_the_size(lake: Lake) -> None:
    for kind in ("samples", "scores"):
        fill(lake, kind, range(10, -1, -1))
    retain(lake, RetentionSettings(max_bytes=Size(1)), at(0.1))
    assert ages(lake, "samples") == ages(lake, "scores") == [2, 1, 0]


def test_a_clock_set_far_forward_deletes_nothing(lake: Lake) -> None:
    fill(lake, "samples", range(5, -1, -1))
    assert retain(lake, RetentionSettings(), at(24 * 365)).deleted == 0
    assert len(lake.files("samples")) == 6


def test_samples_stamped_by_a_clock_set_far_forward_delete_nothing_that_is_older(lake: Lake) -> None:
    fill(lake, "samples", range(32, 26, -1))
    fill(lake, "samples", range(0, -23, -1))
    settings = RetentionSettings(samples=Duration(2 * HOUR))
    report = retain(lake, settings, at(23))
    assert report.now_ns == at(-26)
    assert ages(lake, "samples") == [28, 27, *range(0, -23, -1)]


def test_after_a_gap_of_over_a_day_age_counts_again_once_24_hours_hold_data(lake: Lake) -> None:
    fill(lake, "samples", range(32, 26, -1))
    fill(lake, "samples", range(0, -24, -1))
    assert retain(lake, RetentionSettings(samples=Duration(48 * HOUR)), at(24)).now_ns == at(24)
    assert ages(lake, "samples") == [*range(0, -24, -1)]


def test_over_the_size_hours_go_whatever_the_gap(lake: Lake) -> None:
    fill(lake, "samples", range(32, 26, -1))
    fill(lake, "samples", range(0, -5, -1))
    retain(lake, RetentionSettings(max_bytes=Size(1)), at(5))
    assert ages(lake, "samples") == [-3, -4]


def test_an_empty_lake_has_nothing_to_retain(lake: Lake) -> None:
    assert retain(lake, RetentionSettings(), at(0)).deleted == 0
