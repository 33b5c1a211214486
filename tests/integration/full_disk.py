"""Agent and jobs on a file system that fills up and is given room again; prints what was seen, as JSON.

Run by `test_storage_trouble.py` in a mount namespace of its own: `python -m tests.integration.full_disk FOLDER LOGS`,
FOLDER being a small file system.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq

from hostsight.errors import HostsightError
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from hostsight.timerange import TimeRange
from ingest.embedded import EmbeddedStore
from ingest.lake import Lake
from jobs.status import Status, read_status
from tests.integration.processes import HOST, Process, wait_for


def fill(path: Path) -> None:
    """Write until there is no room for a single byte more."""
    with path.open("ab", buffering=0) as file:
        for size in (2**16, 2**12, 1):
            with suppress(OSError):
                while True:
                    file.write(b"x" * size)


def status(data: DataFolder) -> Status:
    return read_status(data, Settings(), time.time_ns())


def processed(data: DataFolder) -> str:
    """Up to when windows are done."""
    with suppress(HostsightError):
        return next((host.processed_to or "" for host in status(data).hosts), "")
    return ""


def main(folder: Path, logs: Path) -> None:
    data = DataFolder(folder / "data").create()
    processes = [Process(name, data, logs / f"{name}.log") for name in ("agent", "serve")]
    for process in processes:
        process.start()
    wait_for(lambda: processed(data) != "", "the first windows")

    fill(folder / "filler")
    wait_for(lambda: "no space left" in processes[0].words, "the agent's words")
    problems = status(data).problems
    stopped_at = processed(data)
    alive = [process.alive for process in processes]

    (folder / "filler").unlink()
    freed_at = status(data).time
    wait_for(lambda: processed(data) > freed_at, "new windows")
    agent, serve = (process.stop() for process in processes)
    store = EmbeddedStore(data, Settings())
    span = store.span(HOST)
    assert span is not None
    seen = {
        "alive": alive,
        "problems": problems,
        "stopped_at": stopped_at,
        "resumed_at": processed(data),
        "exit_codes": [agent, serve],
        "damaged_segments": store.problems,
        "unreadable": unreadable(data),
        "same_samples": Lake(data)
        .read("samples", HOST, TimeRange(0, 2**62))
        .equals(store.export(HOST, TimeRange(span.start_ns, span.end_ns))),
        "times_told": [process.words.count("no space left") for process in processes],
    }
    json.dump(seen, sys.stdout)


def unreadable(data: DataFolder) -> list[str]:
    found = [str(path) for path in data.lake.rglob("*") if path.suffix in {".bad", ".part"}]
    for path in data.lake.rglob("*.parquet"):
        try:
            pq.read_table(path)
        except (OSError, ValueError):
            found.append(str(path))
    return found


if __name__ == "__main__":
    os.umask(0o077)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
