"""How long after the end of a window its results can be seen: the real pipeline, fed by synthetic telemetry in real time."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from bench.report import report
from bench.synthetic import Feed
from hostsight.clock import SECOND_NS
from hostsight.errors import HostsightError
from hostsight.folders import DataFolder
from hostsight.settings import Duration, Settings
from jobs import child
from jobs.environment import settings_environment
from jobs.progress import Progress, read_progress
from jobs.schedule import MATERIALISE
from migrations import open_state

CHANNELS = 300
HISTORY_SECONDS = 240
BURST_SECONDS = 6
CYCLE_SECONDS = 18
START_SECONDS = 120.0
_LOOK_SECONDS = 0.005


def bench_latency(settings: Settings, seconds: float, channels: int = CHANNELS) -> dict[str, object]:
    """Feed `serve` ten ticks a second with a burst every 18 s, and watch the state database every 5 ms.

    `episode_seconds`: from the end of the window that opened an episode to its row visible; `window_seconds`: from the end
    of any window to its scores committed. Raises HostsightError where the pipeline does not come to life.
    """
    settings = _brisk(settings)
    with tempfile.TemporaryDirectory(prefix="hostsight-bench-") as folder:
        data = DataFolder(Path(folder)).create()
        feed = Feed(data, settings, channels)
        feed.write_history(HISTORY_SECONDS)
        with feed.running(CYCLE_SECONDS, BURST_SECONDS), _serve(settings, data):
            connection = _await_model(data)
            with contextlib.closing(connection):
                seen = _watch(connection, data, seconds)
    chosen = {"seconds": seconds, "channels": channels, "ticks_per_second": feed.ticks_per_second}
    return report("latency", chosen, _results(seen))


def _brisk(settings: Settings) -> Settings:
    """The settings, with episodes that close soon after their burst, so that there are many."""
    detect = msgspec.structs.replace(
        settings.detect,
        warmup=Duration(HISTORY_SECONDS // 2),
        close_after=Duration(4),
        merge_gap=Duration(0),
    )
    return msgspec.structs.replace(settings, detect=detect)


@contextlib.contextmanager
def _serve(settings: Settings, data: DataFolder) -> Iterator[None]:
    with (data.logs / "serve.log").open("wb") as log:
        process = child.start(
            "cli.main",
            ["--data", str(data.root), "serve"],
            environment=settings_environment(settings),
            output=log,
            errors=subprocess.STDOUT,
        )
    with process:
        try:
            yield
        finally:
            process.terminate()


def _await_model(data: DataFolder) -> sqlite3.Connection:
    """A connection to the state database, once a model is live and the pipeline keeps up."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        progress = read_progress(data)
        if progress is not None and any(host.activity.startswith("watching") for host in progress.hosts):
            return open_state(data.state_db, read_only=True)
        time.sleep(0.1)
    words = (data.logs / "serve.log").read_text("utf-8", "replace").strip()
    raise HostsightError(
        f"no model came to life within {START_SECONDS:.0f} s; the jobs said: {words or 'nothing'}"
    )


@dataclass(slots=True)
class _Seen:
    """Latencies in seconds, and what the pipeline used."""

    episodes: list[float] = field(default_factory=list)
    windows: list[float] = field(default_factory=list)
    reports: list[Progress] = field(default_factory=list)


def _watch(connection: sqlite3.Connection, data: DataFolder, seconds: float) -> _Seen:
    seen = _Seen()
    last_id, last_ns = _newest(connection)
    end = time.monotonic() + seconds
    pause = threading.Event()
    while time.monotonic() < end:
        pause.wait(_LOOK_SECONDS)
        identity, position_ns = _newest(connection)
        now_ns = time.time_ns()
        if position_ns != last_ns:
            seen.windows.append((now_ns - position_ns) / SECOND_NS)
            progress = read_progress(data)
            seen.reports += [progress] if progress else []
        if identity != last_id:
            rows = connection.execute("SELECT opened_ns FROM episodes WHERE id > ?", (last_id,))
            seen.episodes += [(now_ns - row["opened_ns"]) / SECOND_NS for row in rows]
        last_id, last_ns = identity, position_ns
    return seen


def _newest(connection: sqlite3.Connection) -> tuple[int, int]:
    """The newest episode's id, and up to when windows are done."""
    row = connection.execute(
        "SELECT (SELECT coalesce(max(id), 0) FROM episodes), (SELECT max(position_ns) FROM watermarks WHERE job = ?)",
        (MATERIALISE,),
    ).fetchone()
    return int(row[0]), int(row[1])


def _results(seen: _Seen) -> dict[str, object]:
    return {
        "episode_seconds": _spread(seen.episodes),
        "window_seconds": _spread(seen.windows),
        "pipeline": {
            "cpu_percent": float(np.mean([one.cpu_percent for one in seen.reports]))
            if seen.reports
            else None,
            "rss_bytes": max((one.rss_bytes for one in seen.reports), default=None),
        },
    }


def _spread(values: list[float]) -> dict[str, float | int | None]:
    if not values:
        return {"count": 0, "p50": None, "p99": None, "max": None}
    p50, p99 = np.percentile(values, [50, 99])
    return {"count": len(values), "p50": float(p50), "p99": float(p99), "max": max(values)}
