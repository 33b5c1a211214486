"""A full disk, a read-only data folder, two pipelines on one folder."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hostsight.folders import DataFolder
from tests.integration.processes import DEADLINE_SECONDS, REPOSITORY, Process, wait_for


def in_namespace(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script that may mount file systems nobody else sees, as root or as an ordinary user."""
    if shutil.which("unshare") is None:
        pytest.skip("no unshare(1) here, so no file system can be mounted for the test")
    command = ["unshare", "--map-root-user", "--mount", "sh", "-ec"]
    allowed = subprocess.run(
        [*command, 'mount -t tmpfs -o size=1m tmpfs "$0"', arguments[0]], capture_output=True, check=False
    )
    if allowed.returncode:
        pytest.skip("user namespaces are not allowed here, so no file system can be mounted for the test")
    return subprocess.run(
        [*command, script, *arguments],
        capture_output=True,
        cwd=REPOSITORY,
        text=True,
        timeout=3 * DEADLINE_SECONDS,
        check=False,
    )


@pytest.mark.timeout(300)
def test_a_full_disk_stops_collection_with_words_and_it_resumes_by_itself(tmp_path: Path) -> None:
    folder, logs = tmp_path / "small", tmp_path / "logs"
    folder.mkdir()
    logs.mkdir()
    done = in_namespace(
        'mount -t tmpfs -o size=16m tmpfs "$0"; exec "$2" -m tests.integration.full_disk "$0" "$1"',
        str(folder),
        str(logs),
        sys.executable,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)

    assert seen["alive"] == [True, True]
    assert any("has 0 MiB left; free some" in problem for problem in seen["problems"])
    assert seen["resumed_at"] > seen["stopped_at"]
    assert seen["exit_codes"] == [0, 0]
    assert seen["unreadable"] == []
    assert list(seen["damaged_segments"]) == []
    assert seen["same_samples"] is True
    assert max(seen["times_told"]) < 10, "told when it changes, not each second"


def test_a_read_only_data_folder_is_refused_in_one_sentence(tmp_path: Path) -> None:
    script = (
        'mount -t tmpfs -o size=1m,ro tmpfs "$0"\n'
        'for name in agent serve "up --no-tui"; do "$1" -m cli.main --data "$0/data" $name && exit 9; done; exit 0'
    )
    done = in_namespace(script, str(tmp_path), sys.executable)

    assert done.returncode == 0, done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 3
    assert all("may not be written (Read-only file system); choose another folder" in line for line in lines)


def test_a_second_pipeline_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    data = DataFolder(tmp_path / "data").create()
    first, second = (Process("serve", data, tmp_path / f"{name}.log") for name in ("first", "second"))
    first.start()
    wait_for(first.is_working, "the first pipeline")
    second.start()

    assert second.wait() == 3
    assert f"is already running on {data.root} (process {first.pid})" in second.words
    assert first.stop() == 0
