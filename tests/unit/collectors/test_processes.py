"""The processes that use most."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from hostsight.errors import NoDataError
from ingest.collector import Host
from ingest.collectors.processes import TOP, ProcessesCollector
from ingest.collectors.smallfiles import read_small
from tests.unit.collectors.trees import Trees, read, write

PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


def process(
    pid: int, *, user: int = 0, pages: int = 0, state: str = "S", start: int = 5, io: int | None = None
) -> dict[str, str]:
    fields = [state, *["0"] * 10, str(user), "0", *["0"] * 6, str(start), "4096", str(pages), "0"]
    files = {f"proc/{pid}/stat": f"{pid} (a) b (c) {' '.join(fields)}\n"}
    if io is not None:
        files[f"proc/{pid}/io"] = f"rchar: 9\nread_bytes: {io}\nwrite_bytes: 24\n"
    return files


class Watch:
    """A collector on `root`, ten seconds between its readings."""

    def __init__(self, root: Path) -> None:
        self.now = 0
        self.collector = ProcessesCollector(lambda: self.now)
        self.slots = self.collector.open(Host(root))

    def read(self) -> dict[str, float]:
        self.now += 10_000_000_000
        out = np.full(len(self.slots), np.nan)
        assert self.collector.read(out)
        return {
            f"{slot.device} {slot.metric.name}": value for slot, value in zip(self.slots, out, strict=True)
        }


def test_memory_of_captured_processes(trees: Trees) -> None:
    values = read(ProcessesCollector(), trees.prometheus)
    assert values["memory top1 process_resident_bytes"] == 1981 * PAGE  # 26231 (vim)
    assert values["memory top2 process_resident_bytes"] == 155 * PAGE  # 1020 ((a b ) ( c d) )
    assert values["memory top3 process_resident_bytes"] == 138 * PAGE  # 27079 (pthread_load)
    assert values["cpu host zombie_processes"] == 0
    assert np.isnan(values["cpu top1 process_cpu_percent"])  # one reading says nothing about time


def test_ranks_by_time_between_two_readings(tmp_path: Path) -> None:
    watch = Watch(write(tmp_path, process(1, user=500) | process(2, user=900) | process(3)))
    watch.read()
    write(tmp_path, process(1, user=500 + 20 * TICKS) | process(2, user=900 + 5 * TICKS))
    values = watch.read()
    assert [values[f"top{rank} process_cpu_percent"] for rank in (1, 2, 3)] == [200, 50, 0]
    assert np.isnan(values["top4 process_cpu_percent"])


def test_ranks_by_memory_and_storage_are_apart(tmp_path: Path) -> None:
    watch = Watch(write(tmp_path, process(1, pages=10, io=0) | process(2, pages=30, io=0)))
    watch.read()
    write(tmp_path, process(1, user=1, pages=10, io=70_000) | process(2, user=1, pages=30, io=20_000))
    values = watch.read()
    assert values["top1 process_resident_bytes"] == 30 * PAGE
    assert values["top1 process_io_bytes_per_s"] == 7000
    assert values["top2 process_io_bytes_per_s"] == 2000


def test_a_number_that_comes_again_is_another_process(tmp_path: Path) -> None:
    watch = Watch(write(tmp_path, process(7, user=100, start=5) | process(8)))
    watch.read()
    write(tmp_path, process(7, user=9000, start=6))
    values = watch.read()
    assert values["top1 process_cpu_percent"] == 0  # of process 8
    assert np.isnan(values["top2 process_cpu_percent"])


def test_processes_that_are_stuck_or_dead_are_counted(tmp_path: Path) -> None:
    watch = Watch(write(tmp_path, process(1, state="D") | process(2, state="D") | process(3, state="Z")))
    values = watch.read()
    assert values["host uninterruptible_processes"] == 2
    assert values["host zombie_processes"] == 1


def test_no_process_becomes_a_device(tmp_path: Path) -> None:
    files: dict[str, str] = {}
    for pid in range(1, 30):
        files |= process(pid, pages=pid)
    devices = {slot.device for slot in Watch(write(tmp_path, files)).slots}
    assert devices == {"host", *(f"top{rank}" for rank in range(1, TOP + 1))}


@pytest.mark.parametrize("stat", ["", "1 (x)", "1 (x) R 1 2", "\0\xff) ) )", "1 (x) " + "nan " * 40])
def test_what_makes_no_sense_is_no_process(tmp_path: Path, stat: str) -> None:
    watch = Watch(write(tmp_path, {"proc/1/stat": stat} | process(2, pages=3)))
    values = watch.read()
    assert values["top1 process_resident_bytes"] == 3 * PAGE
    assert np.isnan(values["top2 process_resident_bytes"])


def test_a_process_that_has_ended_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "proc/99").mkdir(parents=True)
    assert np.isnan(Watch(tmp_path).read()["top1 process_resident_bytes"])


def test_no_process(tmp_path: Path) -> None:
    with pytest.raises(NoDataError):
        ProcessesCollector().open(Host(tmp_path))


def test_this_machine() -> None:
    watch = Watch(Path("/"))
    values = watch.read()
    assert values["top1 process_resident_bytes"] >= values["top2 process_resident_bytes"] > 0


@pytest.mark.parametrize(("user", "remedy"), [(1000, "run the agent as root"), (0, "CAP_SYS_PTRACE")])
def test_root_is_not_told_to_run_as_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, remedy: str
) -> None:
    def refuse(path: str) -> bytes:
        if path.endswith("/io"):
            raise PermissionError
        return read_small(path)

    monkeypatch.setattr("ingest.collectors.processes.read_small", refuse)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    watch = Watch(write(tmp_path, process(1, io=0)))
    watch.read()
    (missing,) = watch.collector.absent()
    assert missing[1] == "permission"
    assert remedy in missing[2]
