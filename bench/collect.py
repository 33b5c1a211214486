"""What collection costs: the agent beside a plain psutil loop, at the same time and the same rate."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from bench import subjects
from bench.peers import PEERS, running
from bench.report import report
from bench.stopwatch import Stopwatch, Usage
from hostsight.clock import SECOND_NS
from hostsight.errors import HostsightError
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from ingest.collectors.agent import LATENESS
from ingest.heartbeat import Heartbeat, read_heartbeat
from ingest.pace import CALM_SECONDS
from ingest.segment import SegmentReader, Ticks, list_segments

_SETTLE_SECONDS = 3.0
_START_SECONDS = 60.0


def bench_collect(
    settings: Settings, seconds: float, *, peers: bool = False, adaptive: bool = False
) -> dict[str, object]:
    """Measure both for `seconds`, after they have settled. CPU is all that the process used, spool and heartbeat included.

    `ratio` is the agent's CPU over the loop's: what else the machine does slows both. `peers`: at the same time, the
    collectors of `bench.peers` that are installed here. `adaptive`: also a second agent with `[agent] adaptive`, after it had
    time to find the host idle, if it is.
    """
    chosen = [peer for peer in PEERS if peers and not peer.missing]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hostsight-bench-")))
        data = DataFolder(folder / "data")
        data.create()
        others = stack.enter_context(running(folder, chosen))
        agent = stack.enter_context(_subject("agent", settings, data))
        loop = stack.enter_context(_subject("psutil", settings, data))
        sparing = stack.enter_context(_sparing(settings, folder)) if adaptive else None
        _await_ticks(data)
        time.sleep(_SETTLE_SECONDS + (CALM_SECONDS if adaptive else 0))
        if sparing is not None:
            sparing.watch()
        for other in others:
            other.watch()
        watches = Stopwatch(agent.pid), Stopwatch(loop.pid)
        time.sleep(seconds)
        ours, theirs = (watch.stop() for watch in watches)
        beat = _await_ticks(data)
        spared = sparing.result() if sparing is not None else None
        beside = {other.peer.name: other.result() for other in others}
        agent.send_signal(signal.SIGTERM)
        agent.wait(_START_SECONDS)
        results = _results(settings, ours, theirs, beat, data)
    if spared is not None:
        own = ours.cpu_seconds / ours.wall_seconds
        results["adaptive"] = {**spared, "cpu_ratio": spared["cpu_percent"] / (100 * own)}
    if peers:
        results["peers"] = beside
        results["peers_missing"] = {peer.name: peer.install for peer in PEERS if peer.missing}
    described = {
        "seconds": seconds,
        **{key: float(getattr(settings.agent, key)) for key in ("tick", "medium", "slow")},
    }
    return report("collect", described, results)


class _Sparing:
    """The agent that ticks rarely while the host is idle."""

    def __init__(self, pid: int, data: DataFolder) -> None:
        self._data = data
        self._watch = Stopwatch(pid)
        self._first = _await_ticks(data)

    def watch(self) -> None:
        self._first = _await_ticks(self._data)
        self._watch.start()

    def result(self) -> dict[str, float]:
        """`ticks_per_s` says how much of the time the host was idle: 1 all of it, 10 none, with the default settings."""
        used = self._watch.stop()
        last = _await_ticks(self._data, after_ns=self._first.updated_ns)
        return {
            "cpu_percent": 100 * used.cpu_seconds / used.wall_seconds,
            "ticks_per_s": tick_rate(self._first, last),
        }


def tick_rate(first: Heartbeat, last: Heartbeat) -> float:
    """Ticks a second from one heartbeat to a later one, which may be seconds old when it is read."""
    return (last.ticks - first.ticks) * SECOND_NS / (last.updated_ns - first.updated_ns)


@contextmanager
def _sparing(settings: Settings, folder: Path) -> Iterator[_Sparing]:
    data = DataFolder(folder / "adaptive")
    data.create()
    agent = msgspec.structs.replace(settings.agent, adaptive=True)
    with _subject("agent", msgspec.structs.replace(settings, agent=agent), data) as process:
        yield _Sparing(process.pid, data)


@contextmanager
def _subject(name: str, settings: Settings, data: DataFolder) -> Iterator[subprocess.Popen[bytes]]:
    encoded = subjects.encode(settings)
    command = [sys.executable, "-P", "-m", "bench.subjects", name, encoded, str(data.root)]
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.kill()


def _await_ticks(data: DataFolder, *, after_ns: int = 0) -> Heartbeat:
    """A heartbeat of an agent that has ticked, written after `after_ns`."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        beat = read_heartbeat(data)
        if beat is not None and beat.ticks > 0 and beat.updated_ns > after_ns:
            return beat
        time.sleep(0.1)
    raise HostsightError(
        f"the agent did not start within {_START_SECONDS:.0f} s; try `hostsight agent` alone"
    )


def _results(
    settings: Settings, ours: Usage, theirs: Usage, beat: Heartbeat, data: DataFolder
) -> dict[str, object]:
    ticks = ours.wall_seconds / settings.agent.tick
    channels, batches = _stored(data)
    values = int(sum(np.isfinite(batch.values).sum() for batch in batches))
    stored = sum(len(batch.ts) for batch in batches)
    lateness = np.concatenate([batch.values[:, channels.index(LATENESS.name)] for batch in batches]) * 1e3
    per_tick = values / stored
    return {
        "agent": {
            **_cost(ours, ticks),
            "cpu_us_per_tick_per_ten_channels": 1e7 * ours.cpu_seconds / ticks / beat.channels,
            "cpu_us_per_value": 1e6 * ours.cpu_seconds / ticks / per_tick,
            "channels": beat.channels,
            "values_per_tick": per_tick,
            "late_ticks": beat.late_ticks,
            "ticks": beat.ticks,
            "lateness_ms": _spread(lateness),
            "spool_bytes_per_value": sum(path.stat().st_size for path in data.spool.iterdir()) / values,
        },
        "psutil_loop": _cost(theirs, ticks),
        "ratio": ours.cpu_seconds / theirs.cpu_seconds,
    }


def _cost(usage: Usage, ticks: float) -> dict[str, float]:
    return {
        "cpu_us_per_tick": 1e6 * usage.cpu_seconds / ticks,
        "cpu_percent": 100 * usage.cpu_seconds / usage.wall_seconds,
        "rss_bytes": usage.rss_bytes,
    }


def _spread(values: NDArray[np.floating]) -> dict[str, float]:
    p50, p99 = np.nanpercentile(values, [50, 99])
    return {"p50": float(p50), "p99": float(p99), "max": float(np.nanmax(values))}


def _stored(data: DataFolder) -> tuple[list[str], list[Ticks]]:
    """Metrics of the newest layout, and all batches that have it."""
    metrics: list[str] = []
    batches: list[Ticks] = []
    for name in reversed(list_segments(data.spool)):
        reader = SegmentReader(data.spool / str(name))
        reader.refresh()
        found = [channel.metric for channel in reader.channels]
        metrics = metrics or found
        if found == metrics:
            batches += [ticks for frame in reader.frames if (ticks := reader.read(frame)) is not None]
    return metrics, batches
