"""Kernel files that stay open."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ingest.kept_file import KeptFile


def test_reads_the_content_of_now(tmp_path: Path) -> None:
    path = tmp_path / "stat"
    path.write_bytes(b"one")
    file = KeptFile(path)
    assert file.read() == b"one"
    path.write_bytes(b"two and more")
    assert file.read() == b"two and more"
    file.close()


def test_reads_all_of_a_file_longer_than_a_page(tmp_path: Path) -> None:
    content = bytes(range(256)) * 1000
    path = tmp_path / "interrupts"
    path.write_bytes(content)
    file = KeptFile(path)
    assert file.read() == content
    assert file.read() == content
    file.close()


def test_captures_are_read_in_their_order_then_the_file_itself(tmp_path: Path) -> None:
    path = tmp_path / "stat"
    file = KeptFile(path)
    for text in (b"one", None, b"three"):
        path.write_bytes(text) if text else path.unlink()
        file.capture()
    path.write_bytes(b"now")
    assert file.read() == b"one"
    with pytest.raises(FileNotFoundError):
        file.read()
    assert file.read() == b"three"
    assert file.read() == b"now"
    file.close()


def test_captures_can_be_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "stat"
    path.write_bytes(b"then")
    file = KeptFile(path)
    file.capture()
    path.write_bytes(b"now")
    file.forget()
    assert file.read() == b"now"
    file.close()


def test_an_unchanged_file_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "meminfo"
    path.write_bytes(b"a")
    file = KeptFile(path)
    assert file.read_changed() == b"a"
    assert file.read_changed() is None
    path.write_bytes(b"b")
    assert file.read_changed() == b"b"
    file.close()


def test_a_vanished_file_is_missing_and_found_again(tmp_path: Path) -> None:
    path = tmp_path / "psi"
    path.write_bytes(b"first")
    file = KeptFile(path)
    file.read()
    path.unlink()
    with pytest.raises(FileNotFoundError):
        file.read()
    with pytest.raises(FileNotFoundError):
        file.read()
    path.write_bytes(b"second")
    assert file.read() == b"second"
    file.close()


def test_a_replaced_file_is_read_anew(tmp_path: Path) -> None:
    path, new = tmp_path / "stat", tmp_path / "new"
    path.write_bytes(b"old")
    file = KeptFile(path)
    file.read()
    new.write_bytes(b"new")
    new.replace(path)
    assert file.read() == b"new"
    file.close()


def test_a_live_kernel_file_is_read_whole() -> None:
    file = KeptFile("/proc/self/status")
    assert f"Pid:\t{os.getpid()}\n".encode() in file.read()
    assert file.read().startswith(b"Name:")
    file.close()


def test_closing_leaves_no_descriptor(tmp_path: Path) -> None:
    path = tmp_path / "stat"
    path.write_bytes(b"x")
    before = len(list(Path("/proc/self/fd").iterdir()))
    file = KeptFile(path)
    file.read()
    file.close()
    file.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize("cpus", [150, 184, 185, 300])
def test_a_page_with_no_room_for_the_first_line_is_not_the_whole_file(
    cpus: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As /proc/interrupts is handed out: whole records as far as they fit into a page, or one that does not."""
    records = [b"CPU0       " * cpus + b"\n", *[b"  0:" + b"         0 " * cpus + b" " * 35 + b"\n"] * 3]
    content = b"".join(records)

    def page(_fd: int, _size: int, offset: int) -> bytes:
        given = b""
        for at, record in enumerate(records):
            if sum(map(len, records[:at])) >= offset and (not given or len(given + record) < 4096):
                given += record
            elif given:
                break
        return given

    monkeypatch.setattr("ingest.kept_file.os.pread", page)
    file = KeptFile("/proc/self/stat")
    found = file.read()
    file.close()
    assert found == content
