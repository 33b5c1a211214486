"""The system call: what is asked for, and what this kernel counts."""

from __future__ import annotations

import errno
import mmap
import os
import platform
import struct
from pathlib import Path

import pytest

from ingest.collector import Host
from ingest.perf.calls import LinuxPerfCalls, attributes_of, counts_here
from ingest.perf.event import GENERIC, Event
from tests.unit.perf.fakes import tree


def test_attributes_lie_where_the_kernel_looks_for_them() -> None:
    content = attributes_of(Event(4, 0x14A3, 0xC1, 0xC2))
    assert len(content) == 72
    assert struct.unpack_from("=IIQ", content) == (4, 72, 0x14A3)
    assert struct.unpack_from("=Q", content, 32) == (11,), "group, time enabled, time running"
    assert struct.unpack_from("=Q", content, 40) == (0,), "enabled from the start, nothing excluded"
    assert struct.unpack_from("=QQ", content, 56) == (0xC1, 0xC2)


def test_cache_events_are_cache_operation_and_result() -> None:
    assert GENERIC["dTLB-load-misses"] == Event(3, 0x10003)


@pytest.mark.parametrize(
    ("machine", "number"),
    [("x86_64", 298), ("aarch64", 241), ("riscv64", 241), ("ppc64le", 319), ("s390x", 331)],
)
def test_the_call_has_its_number_on_each_architecture(
    machine: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[tuple[object, ...]] = []

    def call(*arguments: object) -> int:
        called.append(arguments)
        return 7

    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr("ingest.perf.calls._syscall", lambda: call)
    assert LinuxPerfCalls().open(Event(1, 3), 5, -1) == 7
    assert called == [(number, attributes_of(Event(1, 3)), -1, 5, -1, 8)]


def test_an_architecture_without_a_known_number_is_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "vax")
    with pytest.raises(OSError, match="vax") as raised:
        LinuxPerfCalls().open(Event(1, 3), 0, -1)
    assert raised.value.errno == errno.ENOSYS


def test_this_kernel_counts_page_faults_of_a_cpu() -> None:
    calls, mine = LinuxPerfCalls(), os.sched_getaffinity(0)
    cpu = min(mine)
    try:
        fd = calls.open(GENERIC["page-faults"], cpu, -1)
    except OSError as error:
        pytest.skip(f"perf_event_open: {error}")
    os.sched_setaffinity(0, {cpu})
    try:
        before = struct.unpack("=4Q", calls.read(fd, 32))
        with mmap.mmap(-1, 500 * mmap.PAGESIZE) as memory:
            memory.madvise(mmap.MADV_NOHUGEPAGE)
            memory[:: mmap.PAGESIZE] = b"x" * 500
        after = struct.unpack("=4Q", calls.read(fd, 32))
    finally:
        os.sched_setaffinity(0, mine)
        calls.close(fd)
    assert after[0] == 1
    assert after[3] - before[3] >= 500
    assert after[1] - before[1] == after[2] - before[2] > 0, "a software event always runs"


def test_descriptors_that_are_open_leave_no_room() -> None:
    calls = LinuxPerfCalls()
    before = calls.room()
    with Path("/dev/null").open("rb"), Path("/dev/null").open("rb"):
        assert calls.room() == before - 2


def test_only_a_view_of_the_running_kernel_is_counted(tmp_path: Path) -> None:
    assert counts_here(Host(Path("/")))
    assert counts_here(Host(tree(tmp_path / "container", {})))
    assert not counts_here(Host(tree(tmp_path / "capture", {}, here=False)))
    assert not counts_here(Host(tmp_path / "empty"))
