from __future__ import annotations

import errno
import fcntl
import os
import stat
from pathlib import Path
from typing import NoReturn

import pytest

from hostsight.errors import FullError, LockedError, StorageError
from hostsight.files import lock_holder, locked, make_folder, storage_error, write_atomic


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_is_private_and_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    write_atomic(path, b"a long first content")
    write_atomic(path, b"short", sync=True)
    assert path.read_bytes() == b"short"
    assert mode(path) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_content_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    path.mkdir()
    with pytest.raises(StorageError, match=r"agent\.json"):
        write_atomic(path, b"content")
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_became_read_only_is_a_storage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "replace", fails)
    monkeypatch.setattr(Path, "unlink", fails)
    with pytest.raises(StorageError, match="may not be written"):
        write_atomic(tmp_path / "agent.json", b"content")


def test_folders_are_private(tmp_path: Path) -> None:
    assert mode(make_folder(tmp_path / "a" / "b")) == 0o700


def test_a_folder_below_a_file_names_the_path(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(StorageError, match="a/b"):
        make_folder(tmp_path / "a" / "b")


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_its_own_error_and_names_the_settings(code: int) -> None:
    error = storage_error(OSError(code, os.strerror(code)), "writing", Path("/x/spool"))
    assert isinstance(error, FullError)
    assert "writing /x/spool" in str(error)
    assert "max_bytes" in str(error)


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_a_folder_without_rights_names_the_way_out(code: int) -> None:
    error = storage_error(OSError(code, os.strerror(code)), "writing", Path("/x"))
    assert type(error) is StorageError
    assert "--data" in str(error)


def test_a_second_holder_is_refused_at_once_and_told_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "run" / "agent.lock"
    with (
        locked(path, "an agent"),
        pytest.raises(LockedError, match=rf"an agent is already running .* \(process {os.getpid()}\)"),
        locked(path, "an agent"),
    ):
        pass


def test_the_message_names_the_data_folder(tmp_path: Path) -> None:
    path = tmp_path / "run" / "agent.lock"
    words = rf"running on {tmp_path} \("
    with locked(path, "an agent"), pytest.raises(LockedError, match=words), locked(path, "an agent"):
        pass


def test_the_holder_of_a_lock_is_known_while_it_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "agent.lock"
    assert lock_holder(path) is None
    with locked(path, "an agent"):
        assert lock_holder(path) == os.getpid()
        path.write_text("")
        assert lock_holder(path) == 0
    assert lock_holder(path) is None


def test_a_lock_that_is_held_for_an_instant_does_not_refuse_anybody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "agent.lock"
    path.touch()
    with path.open() as looked_at:
        fcntl.flock(looked_at, fcntl.LOCK_SH)
        monkeypatch.setattr("hostsight.files.time.sleep", lambda _: fcntl.flock(looked_at, fcntl.LOCK_UN))
        with locked(path, "an agent"):
            assert lock_holder(path) == os.getpid()


def test_a_lock_is_free_again_after_its_holder(tmp_path: Path) -> None:
    for _ in range(2):
        with locked(tmp_path / "agent.lock", "an agent"):
            pass


def test_a_stale_longer_process_id_does_not_remain_in_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "agent.lock"
    path.write_text("99999999999")
    with locked(path, "an agent"):
        assert path.read_text() == str(os.getpid())
