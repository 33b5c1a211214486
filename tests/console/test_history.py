"""Queries kept between sessions."""

from __future__ import annotations

from pathlib import Path

from tui.history import KEPT, History


def test_the_newest_comes_first_and_only_once(tmp_path: Path) -> None:
    path = tmp_path / "state" / "queries.json"
    for text in ("SELECT 1", "SELECT 2", "SELECT 1"):
        History(path).add(text)
    assert History(path).texts == ["SELECT 1", "SELECT 2"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_old_queries_are_forgotten(tmp_path: Path) -> None:
    history = History(tmp_path / "queries.json")
    for number in range(KEPT + 5):
        history.add(f"SELECT {number}")
    assert len(history.texts) == KEPT
    assert "SELECT 4" not in history.texts


def test_a_damaged_file_is_no_history(tmp_path: Path) -> None:
    path = tmp_path / "queries.json"
    path.write_bytes(b'{"not": "a list"')
    assert History(path).texts == []


def test_a_folder_that_cannot_be_written_keeps_the_session(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    history = History(blocker / "queries.json")
    history.add("SELECT 1")
    assert history.texts == ["SELECT 1"]
