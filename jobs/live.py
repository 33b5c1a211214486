"""The live job: `materialise`, a few times a second, with its record and the pipeline's report of itself.

It runs for as long as the pipeline does, so it has one growing row in `job_runs` and not one a second; a failure ends
that row, and the next success begins another.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time

import psutil

from hostsight.clock import SECOND_NS, Clock
from hostsight.errors import HostsightError
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from ingest.store import Store
from jobs.boundary import tell
from jobs.build import installed_build
from jobs.materialise import Materialiser
from jobs.progress import Progress, write_progress
from jobs.runs import Run, count_items, finish_run, start_run
from jobs.schedule import MATERIALISE
from jobs.sentences import sentence
from migrations import open_state

POLL_SECONDS = 0.2
"""How often the store is asked for a new whole second."""

REST_SECONDS = 0.8
"""And after a single host gave a single window: sooner it has nothing new, and asking in vain costs more than one would think."""

RETRY_SECONDS = 1.0
REPORT_SECONDS = 1.0


class LiveJob:
    """`follow`, or `run` and `close`, are called from one thread, and from that one alone."""

    def __init__(self, settings: Settings, data: DataFolder, store: Store, clock: Clock) -> None:
        self._settings = settings
        self._data = data
        self._store = store
        self._clock = clock
        self._connection: sqlite3.Connection | None = None
        self._materialiser: Materialiser | None = None
        self._run: Run | None = None
        self._error: str | None = None
        self._retry_ns = 0
        self._reporter = _Reporter(data, store.name, clock)

    def follow(self, stop: threading.Event) -> None:
        """Run again and again until `stop` is set, then close. No scheduler's job: planning each run would cost more than most."""
        try:
            pause = POLL_SECONDS
            while not stop.wait(pause):
                pause = REST_SECONDS if self.run() == 1 and self._alone else POLL_SECONDS
        finally:
            self.close()

    @property
    def hostless(self) -> bool:
        """Whether the store answers and has no host; for any thread."""
        return self._run is not None and self._materialiser is not None and not self._materialiser.hosts

    @property
    def _alone(self) -> bool:
        return self._materialiser is not None and self._materialiser.hosts == 1

    def run(self) -> int:
        """How many windows were done. Never raises: what fails is recorded, told once on stderr, and tried again after a second."""
        windows = 0
        if self._clock.monotonic_ns() < self._retry_ns:
            return windows
        try:
            windows = self._step()
        except Exception as error:  # noqa: BLE001  # a job's boundary: recorded and shown
            self._failed(error)
        self._report()
        return windows

    def _step(self) -> int:
        if self._connection is None:
            self._connection = open_state(self._data.state_db)
        if self._materialiser is None:
            self._materialiser = Materialiser(self._settings, self._data, self._store, self._connection)
        windows = self._materialiser.run(self._clock.wall_ns())
        if self._run is None:
            self._run = start_run(self._connection, MATERIALISE, self._clock.wall_ns())
        self._run.items += windows
        self._error = None
        return windows

    def _failed(self, error: Exception) -> None:
        self._retry_ns = self._clock.monotonic_ns() + round(RETRY_SECONDS * SECOND_NS)
        words = sentence(error)
        if words != self._error:
            tell(error)
        self._error = words
        with contextlib.suppress(sqlite3.Error):  # where it cannot be recorded, the report still says it
            self._end_run(words)

    def _end_run(self, error: str | None) -> None:
        if self._connection is None:
            return
        if self._run is None and error:
            self._run = _same_failure(self._connection, error) or start_run(
                self._connection, MATERIALISE, self._clock.wall_ns()
            )
        if self._run is not None:
            finish_run(self._connection, self._run, self._clock.wall_ns(), error)
        self._run = None

    def _report(self) -> None:
        if not self._reporter.due():
            return
        if self._connection is not None and self._run is not None:
            with contextlib.suppress(sqlite3.Error):
                count_items(self._connection, self._run)
        self._reporter.report(self._materialiser, self._error)

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._end_run(None)
        if self._materialiser is not None:
            self._materialiser.close()
        if self._connection is not None:
            self._connection.close()


def _same_failure(connection: sqlite3.Connection, error: str) -> Run | None:
    """The newest row, where it is this same failure: it is prolonged, not repeated each second."""
    row = connection.execute(
        "SELECT id, items, error FROM job_runs WHERE job = ? ORDER BY id DESC LIMIT 1", (MATERIALISE,)
    ).fetchone()
    return Run(row["id"], row["items"]) if row and row["error"] == error else None


class _Reporter:
    """Writes `run/serve.json` once a second."""

    def __init__(self, data: DataFolder, store: str, clock: Clock) -> None:
        self._data = data
        self._store = store
        self._clock = clock
        self._started_ns = clock.wall_ns()
        self._build = installed_build()
        self._process = psutil.Process()
        self._due_ns = 0
        self._cpu = (clock.monotonic_ns(), time.process_time())

    def due(self) -> bool:
        return self._clock.monotonic_ns() >= self._due_ns

    def report(self, materialiser: Materialiser | None, error: str | None) -> None:
        self._due_ns = self._clock.monotonic_ns() + round(REPORT_SECONDS * SECOND_NS)
        progress = Progress(
            pid=os.getpid(),
            store=self._store,
            started_ns=self._started_ns,
            updated_ns=self._clock.wall_ns(),
            rss_bytes=self._process.memory_info().rss,
            cpu_percent=self._cpu_percent(),
            hosts=materialiser.progress() if materialiser else (),
            error=error,
            problems=materialiser.problems() if materialiser else (),
            build=self._build,
        )
        with contextlib.suppress(
            HostsightError
        ):  # no room: `status` says so by the folder and the report's age
            write_progress(self._data, progress)

    def _cpu_percent(self) -> float:
        """Of one core, since the last report."""
        before_ns, before = self._cpu
        self._cpu = (self._clock.monotonic_ns(), time.process_time())
        elapsed = (self._cpu[0] - before_ns) / SECOND_NS
        return round(100 * (self._cpu[1] - before) / elapsed, 2) if elapsed > 0 else 0.0
