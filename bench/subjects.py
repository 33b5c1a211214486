"""What `bench collect` measures, each in a process of its own: `python -m bench.subjects agent|psutil SETTINGS DATA`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from hostsight.settings import Settings

FAST_FILES = ("vmstat", "pressure/cpu", "pressure/memory", "pressure/io")
MEDIUM_FILES = ("net/snmp", "net/netstat", "net/snmp6", "net/sockstat", "net/softnet_stat", "softirqs")
SLOW_FILES = ("interrupts",)


def encode(settings: Settings) -> str:
    """What collection needs of `settings`, for another process's command line: nothing secret is shown there."""
    needed = {"agent": settings.agent, "spool": settings.spool}
    return msgspec.json.encode(needed, enc_hook=float).decode()


def decode(text: str) -> Settings:
    return msgspec.json.decode(text, type=Settings, dec_hook=lambda kind, number: kind(number))


def agent(settings_json: str, data: str) -> None:
    """The agent as it is."""
    from hostsight.folders import DataFolder
    from ingest.agent import run_agent

    run_agent(decode(settings_json), DataFolder(Path(data)))


def psutil_loop(settings_json: str, _data: str) -> None:
    """The same facts at the same rate by psutil, and by reading and splitting the files that psutil leaves out.

    Nothing is turned into rates and nothing is stored.
    """
    settings = decode(settings_json).agent
    for due in _deadlines(settings.tick, settings.medium, settings.slow):
        for read in due:
            read()


def _deadlines(tick: float, medium: float, slow: float) -> Iterator[list[Callable[[], object]]]:
    every = {1: _fast(), max(1, round(medium / tick)): _medium(), max(1, round(slow / tick)): _slow()}
    count, deadline = 0, time.monotonic()
    while True:
        deadline += tick
        time.sleep(max(0.0, deadline - time.monotonic()))
        count += 1
        yield [read for period, reads in every.items() if count % period == 0 for read in reads]


def _fast() -> list[Callable[[], object]]:
    import psutil

    return [
        psutil.cpu_times,
        lambda: psutil.cpu_times(percpu=True),
        psutil.cpu_stats,
        psutil.virtual_memory,
        psutil.swap_memory,
        lambda: psutil.net_io_counters(pernic=True),
        lambda: psutil.disk_io_counters(perdisk=True),
        lambda: [_split(name) for name in FAST_FILES],
    ]


def _medium() -> list[Callable[[], object]]:
    import psutil

    return [
        psutil.getloadavg,
        lambda: psutil.cpu_freq(percpu=True),
        psutil.net_if_stats,
        lambda: [_split(name) for name in MEDIUM_FILES],
    ]


def _slow() -> list[Callable[[], object]]:
    return [lambda: [_split(name) for name in SLOW_FILES]]


def _split(name: str) -> list[bytes]:
    """The words of a file of /proc; none where this kernel lacks it."""
    try:
        return Path("/proc", name).read_bytes().split()
    except OSError:
        return []


if __name__ == "__main__":
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    {"agent": agent, "psutil": psutil_loop}[sys.argv[1]](*sys.argv[2:])
