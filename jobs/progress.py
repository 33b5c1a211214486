"""What the running pipeline says of itself: `run/serve.json`, replaced every second, worthless after a reboot."""

from __future__ import annotations

from pathlib import Path

import msgspec

from hostsight.clock import SECOND_NS
from hostsight.files import write_report
from hostsight.folders import DataFolder
from hostsight.process import process_exists

STALE_SECONDS = 10.0
"""A pipeline that has not reported for so long is stopped or stuck."""


class HostProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far one host's telemetry has come; times in nanoseconds since the epoch.

    windows: how many were done since the pipeline started.  progress: of the warm-up, 0 to 1.  live: whether windows are
    judged by a baseline; None where that is not known.
    """

    host: str
    position_ns: int | None = None
    available_ns: int | None = None
    windows: int = 0
    progress: float = 0.0
    live: bool | None = None
    activity: str = ""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """error: why the live path does not get on now.  problems: sentences about what it read.

    build: `installed_build` when the pipeline started, empty where that is not known.
    """

    pid: int
    store: str
    started_ns: int
    updated_ns: int
    rss_bytes: int
    cpu_percent: float
    hosts: tuple[HostProgress, ...] = ()
    error: str | None = None
    problems: tuple[str, ...] = ()
    build: str = ""

    def age_seconds(self, now_ns: int) -> float:
        return max(0.0, (now_ns - self.updated_ns) / SECOND_NS)

    def running(self, now_ns: int) -> bool:
        return self.age_seconds(now_ns) < STALE_SECONDS and process_exists(self.pid)


def progress_path(data: DataFolder) -> Path:
    return data.run / "serve.json"


def write_progress(data: DataFolder, progress: Progress) -> None:
    """Raises StorageError, FullError."""
    write_report(progress_path(data), msgspec.json.encode(progress))


def read_progress(data: DataFolder) -> Progress | None:
    """The last report, or None where there is none that can be read."""
    try:
        return msgspec.json.decode(progress_path(data).read_bytes(), type=Progress)
    except (OSError, msgspec.DecodeError):
        return None
