"""What doctor says where the kernel refuses to count."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from ingest.collector import Host
from ingest.perf.refusal import refusal
from tests.unit.collectors.trees import write


def told(number: int, root: Path) -> tuple[str, str, str]:
    error = refusal(Host(root), "hardware events", OSError(number, os.strerror(number)))
    return str(error), error.reason, error.remedy


@pytest.mark.parametrize(
    ("number", "words", "reason", "remedy"),
    [
        (errno.EACCES, "perf_event_paranoid is ", "permission", "sysctl -w kernel.perf_event_paranoid=0"),
        (errno.EPERM, "seccomp", "permission", "--cap-add PERFMON"),
        (errno.ENOSYS, "perf_event_open is missing", "not supported", "CONFIG_PERF_EVENTS"),
        (errno.EMFILE, "too many files", "N/A", "LimitNOFILE"),
        (errno.EBUSY, "holds the counters", "N/A", "nmi_watchdog=0"),
        (errno.ENOENT, "found no performance monitoring unit", "no such device", "dmesg"),
    ],
)
def test_a_refusal_says_why_and_what_would_change_it(
    number: int, words: str, reason: str, remedy: str, tmp_path: Path
) -> None:
    message, given, command = told(number, tmp_path)
    assert message.startswith("hardware events cannot be counted: ")
    assert words in message
    assert given == reason
    assert remedy in command


def test_a_guest_is_told_to_ask_the_machine_below(tmp_path: Path) -> None:
    guest = write(tmp_path, {"proc/cpuinfo": "processor : 0\nflags : fpu hypervisor\n"})
    message, _, command = told(errno.ENOENT, guest)
    assert "this virtual machine has no performance monitoring unit" in message
    assert "pmu=on" in command


def test_an_unforeseen_error_is_shown_in_the_system_s_words(tmp_path: Path) -> None:
    assert told(errno.ELOOP, tmp_path) == (
        "hardware events cannot be counted: perf_event_open gave Too many levels of symbolic links",
        "N/A",
        "",
    )
