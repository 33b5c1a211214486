"""The agent as a process of its own, on this machine's kernel files."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from hostsight.clock import SECOND_NS
from hostsight.errors import LockedError, SettingsError, StorageError
from hostsight.folders import DataFolder
from hostsight.settings import AgentSettings, Duration, Settings
from ingest.agent import run_agent
from ingest.collector import Host
from ingest.equipment import Memory
from ingest.heartbeat import Heartbeat, read_heartbeat, write_heartbeat
from ingest.segment import SegmentReader, list_segments

DEADLINE = 60.0

MAIN = """
import sys
from pathlib import Path
from hostsight.folders import DataFolder
from hostsight.settings import AgentSettings, Settings
from ingest.agent import run_agent
run_agent(Settings(agent=AgentSettings(host="node7", root=sys.argv[2])), DataFolder(Path(sys.argv[1])))
"""


@contextmanager
def agent(data: DataFolder, root: str = "/", *, before: str = "") -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", before + MAIN, str(data.root), root], stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def until(data: DataFolder, expected: Callable[[Heartbeat], bool]) -> Heartbeat:
    """The first heartbeat that is as `expected`."""
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        beat = read_heartbeat(data)
        if beat is not None and expected(beat):
            return beat
        time.sleep(0.02)
    raise AssertionError(f"no such heartbeat within {DEADLINE} s; the last was {read_heartbeat(data)}")


def stamps(data: DataFolder) -> list[int]:
    """Stamps of all ticks in the spool, in the order of its segments."""
    found: list[int] = []
    for name in list_segments(data.spool):
        reader = SegmentReader(data.spool / str(name))
        reader.refresh()
        for frame in reader.frames:
            ticks = reader.read(frame)
            found += [] if ticks is None else ticks.ts.tolist()
    return found


def stop(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit code and stderr after SIGTERM."""
    process.send_signal(signal.SIGTERM)
    _, narration = process.communicate(timeout=DEADLINE)
    return process.returncode, narration


def test_collects_until_it_is_told_to_stop_and_keeps_all(data: DataFolder) -> None:
    with agent(data) as process:
        beat = until(data, lambda beat: beat.ticks > 10)
        assert stop(process) == (0, "")
    assert (beat.host, beat.pid, beat.storage_error) == ("node7", process.pid, None)
    assert beat.channels > 50
    assert {one.name: one.state for one in beat.collectors}["cpu"] == "ok"
    found = stamps(data)
    assert found == sorted(set(found))
    assert len(found) >= beat.ticks


def test_it_remembers_the_devices_of_the_host(data: DataFolder) -> None:
    with agent(data):
        until(data, lambda _: data.equipment.exists())
    known = Memory(data.equipment, Host(Path("/"))).load()
    online = Path("/sys/devices/system/cpu/online")
    assert ("cpu0" in {device.name for device in known}) == online.exists()


def test_it_takes_no_huge_pages(data: DataFolder) -> None:
    with agent(data) as process:
        until(data, lambda beat: beat.ticks > 1)
        assert "THP_enabled:\t0\n" in Path(f"/proc/{process.pid}/status").read_text("ascii")


def test_stamps_lie_on_the_tick(data: DataFolder) -> None:
    run_agent(Settings(agent=AgentSettings(tick=Duration(0.02))), data, seconds=2)
    early = [stamp % 20_000_000 for stamp in stamps(data)]
    assert len(early) > 2
    assert sum(stamp < 10_000_000 for stamp in early) > len(early) / 2


def test_a_second_agent_is_refused(data: DataFolder) -> None:
    with agent(data) as process:
        until(data, lambda beat: beat.ticks > 0)
        with pytest.raises(LockedError, match=f"already running .* \\(process {process.pid}\\)"):
            run_agent(Settings(), data, seconds=0)


def test_carries_on_after_kill_9(data: DataFolder) -> None:
    for _ in range(2):
        with agent(data) as process:
            until(data, lambda beat, pid=process.pid: beat.pid == pid and beat.ticks > 10)  # type: ignore[misc]
            process.kill()
    found = stamps(data)
    assert found == sorted(set(found))


def test_a_full_disk_stops_storing_not_collecting(data: DataFolder) -> None:
    with agent(data) as process:
        until(data, lambda beat: beat.spool_bytes > 0)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))
        full = until(data, lambda beat: beat.storage_error is not None)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        again = until(data, lambda beat: beat.storage_error is None and beat.ticks > full.ticks)
        code, narration = stop(process)
    assert code == 0
    assert full.lost_values > 0
    assert again.ticks > full.ticks
    assert narration.count("no space left") == narration.count("telemetry is stored again") == 1


def test_kernel_files_that_vanish_or_turn_to_garbage_cost_their_own_channels(
    data: DataFolder, tmp_path: Path
) -> None:
    proc = tmp_path / "root" / "proc"
    proc.mkdir(parents=True)
    for name in ("stat", "meminfo", "loadavg"):
        (proc / name).write_bytes(Path("/proc", name).read_bytes())
    with agent(data, str(tmp_path / "root")) as process:
        until(data, lambda beat: _states(beat)["memory"] == _states(beat)["cpu"] == "ok")
        (proc / "stat").unlink()
        (proc / "meminfo").write_bytes(b"\xff\x00 garbage" * 1000)
        bad = until(data, lambda beat: _states(beat)["cpu"] == "absent")
        assert _states(bad)["load"] == "ok"
        assert process.poll() is None
        assert stop(process)[0] == 0


HANGING = """
import time
from ingest.collectors.sockstat import SockstatCollector
slept = []
def hang(self, out):
    slept.append(1)
    while len(slept) == 1:
        time.sleep(60)
    out[:] = 1
    return True
SockstatCollector.read = hang
import ingest.reader, ingest.watchdog
ingest.reader.FIRST_RETRY_SECONDS = 5.0
ingest.watchdog.HELD_SECONDS = 1.5
"""


def test_a_collector_that_hangs_is_interrupted_and_goes_on_in_the_background(data: DataFolder) -> None:
    with agent(data, before=HANGING) as process:
        held = until(data, lambda beat: _states(beat)["sockstat"] == "failed")
        assert _states(held)["cpu"] == "ok"
        again = until(data, lambda beat: _states(beat)["sockstat"] == "ok" and beat.ticks > held.ticks)
        assert stop(process)[0] == 0
    assert again.late_ticks > 0


def test_a_data_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="creating"):
        run_agent(Settings(), DataFolder(tmp_path / "file" / "data"), seconds=0)


def test_an_unknown_collector_is_refused_with_the_nearest(data: DataFolder) -> None:
    with pytest.raises(SettingsError, match="did you mean 'memory'"):
        run_agent(Settings(agent=AgentSettings(disabled=("memry",))), data, seconds=0)


def test_stamps_go_on_where_they_were_when_the_clock_was_set_back(data: DataFolder) -> None:
    run_agent(Settings(), data, seconds=0.5)
    beat = read_heartbeat(data)
    assert beat is not None
    ahead = msgspec.structs.replace(beat, stamp_ns=time.time_ns() + 60 * SECOND_NS)
    write_heartbeat(data, ahead)
    before = stamps(data)
    run_agent(Settings(), data, seconds=0.5)
    assert min(stamps(data)[len(before) :]) > ahead.stamp_ns


def _states(beat: Heartbeat) -> dict[str, str]:
    return {one.name: one.state for one in beat.collectors}
