"""The drain's process: beside the agent, so that no server and no network reaches into the collection."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import suppress

import msgspec
import psutil

from hostsight import narration
from hostsight.clock import SECOND_NS, Clock, SystemClock
from hostsight.errors import HostsightError, StoreUnavailableError
from hostsight.files import locked
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from ingest.influx.client import InfluxClient
from ingest.influx.drain import Drain
from ingest.influx.position import Positions, target
from ingest.influx.report import DrainReport, Outage, write_report
from jobs.schedule import MATERIALISE
from jobs.sentences import sentence
from jobs.stopping import stopping_on_signals
from jobs.watermarks import position
from migrations import open_state

POLL_SECONDS = 0.1
"""How often the spool is asked for another second."""

REPORT_SECONDS = 1.0
FIRST_DELAY_SECONDS = 1.0
LONGEST_DELAY_SECONDS = 60.0
LAST_SECONDS = 3.0
"""How long it goes on with what is left once it was asked to stop."""

_DAY_NS = 86_400 * SECOND_NS


def run_drain(
    settings: Settings,
    data: DataFolder,
    *,
    seconds: float | None = None,
    stop: threading.Event | None = None,
) -> None:
    """Send the spool of `data` to InfluxDB until SIGTERM, SIGINT or `stop`, or for `seconds`.

    Raises LockedError where another drain holds the folder, StorageError where it may not be written, SettingsError where
    [influx] cannot be. A server that does not answer, or not as it should, is tried for ever.
    """
    stop = stop or threading.Event()
    data.create()
    with locked(data.run / "drain.lock", "a drain (`hostsight drain`)"), stopping_on_signals(stop):
        connection = open_state(data.state_db)
        try:
            DrainLoop(settings, data, connection, SystemClock()).run(stop, seconds)
        finally:
            connection.close()


class DrainLoop:
    """Steps of the drain, with their back-off and the report."""

    def __init__(
        self, settings: Settings, data: DataFolder, connection: sqlite3.Connection, clock: Clock
    ) -> None:
        self._settings = settings.influx
        self._data = data
        self._clock = clock
        self._client = InfluxClient(settings.influx)
        positions = Positions(connection, target(settings.influx))
        self._drain = Drain(settings.influx, data, positions, clock, _Readers(connection, clock).kept_from)
        self._started_ns = clock.wall_ns()
        self._process = psutil.Process()
        self._outage: Outage | None = None
        self._delay_seconds = FIRST_DELAY_SECONDS
        self._report_ns = 0

    def run(self, stop: threading.Event, seconds: float | None) -> None:
        end_ns = None if seconds is None else self._clock.monotonic_ns() + round(seconds * SECOND_NS)
        try:
            while not stop.is_set() and (end_ns is None or self._clock.monotonic_ns() < end_ns):
                self._pause(stop, self._step())
            self._finish()
            self._report(now=True)
        finally:
            self._drain.close()
            self._client.close()

    def _pause(self, stop: threading.Event, seconds: float) -> None:
        """Reports meanwhile: an old report says that nothing runs."""
        end_ns = self._clock.monotonic_ns() + round(seconds * SECOND_NS)
        while (left_ns := end_ns - self._clock.monotonic_ns()) > 0:
            if stop.wait(min(left_ns / SECOND_NS, REPORT_SECONDS)):
                return
            self._report(now=False)

    def _step(self) -> float:
        """One step; gives how long to wait before the next."""
        try:
            sent = self._drain.step(self._client)
        except (HostsightError, sqlite3.Error) as error:
            wait = self._failed(error)
        else:
            self._succeeded()
            wait = 0.0 if sent else POLL_SECONDS
        self._report(now=wait > POLL_SECONDS)
        return wait

    def _finish(self) -> None:
        """Send what is left, within LAST_SECONDS, unless the server failed just now."""
        end_ns = self._clock.monotonic_ns() + round(LAST_SECONDS * SECOND_NS)
        while self._clock.monotonic_ns() < end_ns:
            failing = self._outage is not None and self._outage.lasting
            if failing or self._step() > 0.0:
                return

    def _failed(self, error: Exception) -> float:
        words = sentence(error)
        if self._outage is None or not self._outage.lasting:
            _say(f"{words}; telemetry stays in the spool until it is sent")
            self._outage = Outage(since_ns=self._clock.wall_ns(), until_ns=None, error=words)
        self._outage = msgspec.structs.replace(self._outage, error=words)
        wait = self._delay_seconds
        self._delay_seconds = min(2 * self._delay_seconds, LONGEST_DELAY_SECONDS)
        if isinstance(error, StoreUnavailableError):
            wait = max(wait, min(error.retry_seconds, LONGEST_DELAY_SECONDS))
        return wait

    def _succeeded(self) -> None:
        if self._outage is not None and self._outage.lasting:
            _say("InfluxDB takes telemetry again")
            self._outage = msgspec.structs.replace(self._outage, until_ns=self._clock.wall_ns())
        self._delay_seconds = FIRST_DELAY_SECONDS

    def _report(self, *, now: bool) -> None:
        if not now and self._clock.monotonic_ns() < self._report_ns:
            return
        self._report_ns = self._clock.monotonic_ns() + round(REPORT_SECONDS * SECOND_NS)
        with suppress(HostsightError):  # no room for it: its age says so
            write_report(
                self._data,
                DrainReport(
                    pid=os.getpid(),
                    url=self._settings.url,
                    bucket=self._settings.bucket,
                    started_ns=self._started_ns,
                    updated_ns=self._clock.wall_ns(),
                    rss_bytes=self._process.memory_info().rss,
                    outage=self._outage,
                    problems=self._drain.problems,
                    hosts=self._drain.hosts(),
                ),
            )


class _Readers:
    """Whoever else reads the spool on this machine: jobs that have run within the last day."""

    def __init__(self, connection: sqlite3.Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock

    def kept_from(self, host: str) -> int:
        now_ns = self._clock.wall_ns()
        done_ns = position(self._connection, MATERIALISE, host)
        return now_ns if done_ns is None or done_ns < now_ns - _DAY_NS else done_ns


def _say(text: str) -> None:
    narration.say("hostsight drain", text)
