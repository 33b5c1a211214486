from __future__ import annotations

import os
from pathlib import Path
from typing import cast
from unittest.mock import Mock, call

import pytest

from hostsight.folders import SET_ASIDE
from jobs.folder_sizes import FolderSizes

LONG_AGO = (1_700_000_000, 1_700_000_000)


def hour(root: Path, name: str, *sizes: int) -> Path:
    folder = root / "samples" / name
    folder.mkdir(parents=True)
    for index, size in enumerate(sizes):
        (folder / f"{index}.parquet").write_bytes(b"x" * size)
    os.utime(folder, LONG_AGO)
    return folder


def test_sizes_and_files_set_aside_are_those_of_all_folders_below(tmp_path: Path) -> None:
    hour(tmp_path, "hour=1", 3, 4)
    (hour(tmp_path, "hour=2", 5) / f"a.parquet{SET_ASIDE}").write_bytes(b"12")
    assert FolderSizes().measure(str(tmp_path)) == (14, 1)


def test_a_folder_that_did_not_change_is_not_listed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes, closed = FolderSizes(), hour(tmp_path, "hour=1", 3)
    assert sizes.measure(str(tmp_path)) == (3, 0)
    monkeypatch.setattr(os, "scandir", Mock(wraps=os.scandir))
    assert sizes.measure(str(tmp_path)) == (3, 0)
    assert call(str(closed)) not in cast(Mock, os.scandir).mock_calls


def test_what_is_added_or_deleted_counts_at_once(tmp_path: Path) -> None:
    sizes, folder = FolderSizes(), hour(tmp_path, "hour=1", 3)
    sizes.measure(str(tmp_path))
    (folder / "new.parquet").write_bytes(b"1234")
    assert sizes.measure(str(tmp_path)) == (7, 0)
    (folder / "0.parquet").unlink()
    assert sizes.measure(str(tmp_path)) == (4, 0)


def test_a_folder_that_does_not_exist_holds_nothing(tmp_path: Path) -> None:
    assert FolderSizes().measure(str(tmp_path / "none")) == (0, 0)
