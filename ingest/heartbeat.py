"""The agent's sign of life: a small JSON file that it replaces every four seconds."""

from __future__ import annotations

from typing import Literal

import msgspec

from hostsight.clock import SECOND_NS
from hostsight.files import write_report
from hostsight.folders import DataFolder
from hostsight.process import process_exists

PERIOD_SECONDS = 4
STALE_SECONDS = 10


class CollectorBeat(msgspec.Struct, frozen=True):
    """One collector. `reason` says why it is absent, `error` why it failed; `read_us`: its last reading took so long."""

    name: str
    tier: Literal["fast", "medium", "slow"]
    state: Literal["ok", "absent", "failed"]
    reason: str
    error: str
    channels: int
    read_us: float


class Heartbeat(msgspec.Struct, frozen=True):
    """The agent now. `stamp_ns` is the newest tick's; `storage_error` is None while telemetry reaches the spool."""

    pid: int
    host: str
    root: str
    started_ns: int
    updated_ns: int
    tick_seconds: float
    ticks: int
    late_ticks: int
    lateness_p99_ms: float
    lost_values: int
    spool_bytes: int
    spool_dropped_segments: int
    rss_bytes: int
    cpu_percent: float
    channels: int
    storage_error: str | None
    collectors: list[CollectorBeat]
    stamp_ns: int = 0


def write_heartbeat(data: DataFolder, beat: Heartbeat) -> None:
    """Raises StorageError, FullError."""
    write_report(data.heartbeat, msgspec.json.encode(beat))


def read_heartbeat(data: DataFolder) -> Heartbeat | None:
    """The last heartbeat; None where no agent ever ran here, or the file is damaged or of another version."""
    try:
        return msgspec.json.decode(data.heartbeat.read_bytes(), type=Heartbeat)
    except (OSError, msgspec.DecodeError):
        return None


def alive(beat: Heartbeat, now_ns: int) -> bool:
    """Whether the agent's process exists and has given a sign of life within STALE_SECONDS; it gives none between two ticks."""
    patience_ns = round((STALE_SECONDS + beat.tick_seconds) * SECOND_NS)
    return now_ns - beat.updated_ns <= patience_ns and process_exists(beat.pid)
