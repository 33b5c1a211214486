"""The agent's sign of life."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from hostsight.clock import SECOND_NS, FakeClock
from hostsight.errors import FullError
from hostsight.folders import DataFolder
from ingest.heartbeat import CollectorBeat, Heartbeat, alive, read_heartbeat, write_heartbeat

BEAT = Heartbeat(
    pid=os.getpid(),
    host="gpu01",
    root="/",
    started_ns=1,
    updated_ns=100 * SECOND_NS,
    tick_seconds=0.1,
    ticks=10,
    late_ticks=1,
    lateness_p99_ms=0.5,
    lost_values=0,
    spool_bytes=4096,
    spool_dropped_segments=0,
    rss_bytes=70_000_000,
    cpu_percent=1.5,
    channels=300,
    storage_error=None,
    collectors=[CollectorBeat("cpu", "fast", "ok", "", "", 28, 30.5)],
)


def test_reads_back_what_was_written(data: DataFolder) -> None:
    write_heartbeat(data, BEAT)
    assert read_heartbeat(data) == BEAT
    assert data.heartbeat.stat().st_mode & 0o777 == 0o600


def test_a_full_disk_has_room_for_the_heartbeat(data: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    write_heartbeat(data, BEAT)
    later = msgspec.structs.replace(BEAT, ticks=9, collectors=[], storage_error="no space left")

    def full(path: Path, content: bytes) -> None:
        raise FullError("no space left while writing")

    monkeypatch.setattr("hostsight.files.write_atomic", full)
    write_heartbeat(data, later)
    assert read_heartbeat(data) == later


def test_a_full_disk_without_a_heartbeat_is_an_error(
    data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        raise FullError("no space left while writing")

    monkeypatch.setattr("hostsight.files.write_atomic", full)
    with pytest.raises(FullError):
        write_heartbeat(data, BEAT)


def test_no_agent_ever_ran(data: DataFolder) -> None:
    assert read_heartbeat(data) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": "x"}', b"\xff\xfe"])
def test_a_damaged_file_is_no_heartbeat(data: DataFolder, content: bytes) -> None:
    data.heartbeat.write_bytes(content)
    assert read_heartbeat(data) is None


@pytest.mark.parametrize(("age", "expected"), [(0, True), (10, True), (11, False), (-3600, True)])
def test_an_old_heartbeat_is_not_alive_one_from_a_clock_set_back_is(age: int, expected: bool) -> None:
    assert alive(BEAT, BEAT.updated_ns + age * SECOND_NS) is expected


def test_an_agent_that_ticks_rarely_may_be_silent_between_two_ticks() -> None:
    beat = msgspec.structs.replace(BEAT, tick_seconds=30.0, pid=os.getpid())
    assert alive(beat, BEAT.updated_ns + 35 * SECOND_NS)
    assert not alive(beat, BEAT.updated_ns + 41 * SECOND_NS)


def test_a_process_that_has_ended_is_not_alive(clock: FakeClock) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert not alive(msgspec.structs.replace(BEAT, pid=ended.pid), BEAT.updated_ns)
