"""Episodes that change, what is queued of them, and a receiver that is told over HTTP."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator

import pytest

from hostsight.clock import SECOND_NS, FakeClock
from hostsight.folders import DataFolder
from hostsight.settings import AlertSettings, Duration, Settings
from jobs.alert_job import AlertJob
from jobs.alerts import queue_alerts, receivers
from jobs.schedule import MATERIALISE
from jobs.watermarks import advance
from models.attribution import Attribution
from models.episode_state import EpisodeChange, Severity
from models.episode_store import apply_changes
from tests.unit.jobs.alerts.receiver import Receiver, receiving

T0 = 1_700_000_000 * SECOND_NS
OVER = 9 + 30 + 121
"""From here on an episode that was last seen at 9 s cannot open again."""

Tell = Callable[..., int]
Job = Callable[[AlertSettings], AlertJob]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def webhook(receiver: Receiver) -> AlertSettings:
    return AlertSettings(webhook=f"{receiver.url}/hook?key=s3cret", timeout=Duration(5))


@pytest.fixture
def alertmanager(receiver: Receiver) -> AlertSettings:
    return AlertSettings(alertmanager=f"{receiver.url}/", timeout=Duration(5))


@pytest.fixture
def tell(state: sqlite3.Connection, clock: FakeClock) -> Tell:
    """`tell(settings, seconds, closed=..., severity=..., judged=...)`: the episode changes and alerts are queued; gives its number.

    judged: up to when the host's telemetry has been judged then, in seconds.
    """
    state.execute("INSERT INTO models VALUES ('m1', 'gpu01', 'live', 1, 0, 1, 178, 20, 20, 'test')")

    def change(
        settings: AlertSettings,
        seconds: int,
        *,
        closed: bool = False,
        severity: Severity = "warning",
        judged: int = 0,
    ) -> int:
        (number,) = apply_changes(state, [episode(seconds, closed=closed, severity=severity)], T0)
        queue_alerts(state, settings, [number], T0)
        if judged:
            advance(state, MATERIALISE, "gpu01", T0 + judged * SECOND_NS, clock.wall_ns())
        return number

    return change


def episode(seconds: int, *, closed: bool, severity: Severity) -> EpisodeChange:
    main = Attribution(
        channel_id=7, subsystem="storage", device="vda", metric="write_bytes_per_s", share=1.0, expected=3e4,
        actual=2e8, unit="B/s", direction="high", deviation=60.0,
    )  # fmt: skip
    return EpisodeChange(
        action="updated", host="gpu01", opened_ns=T0, last_seen_ns=T0 + seconds * SECOND_NS,
        closed_ns=T0 + (seconds + 30) * SECOND_NS if closed else None, severity=severity, score=5.5,
        confidence=0.7, subsystem="storage", device="vda", metric="write_bytes_per_s",
        summary="storage vda: write is 200 MB/s, usually 30 kB/s", model="m1", threshold=0.01,
        detectors={"zscore": 1e-6}, attribution=(main,),
    )  # fmt: skip


@pytest.fixture
def job(data: DataFolder, clock: FakeClock) -> Job:
    def make(settings: AlertSettings) -> AlertJob:
        (receiver,) = receivers(settings)
        return AlertJob(Settings(alerts=settings), data, clock, threading.Event(), receiver)

    return make
