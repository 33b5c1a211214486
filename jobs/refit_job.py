"""The refit job: does what `requests` asks for, one host at a time, each in a child process."""

from __future__ import annotations

import sqlite3
import subprocess
import threading

import msgspec

from hostsight.clock import Clock
from hostsight.errors import HostsightError, ModelError
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from jobs import child
from jobs.boundary import tell
from jobs.environment import settings_environment
from jobs.requests import Request, done, oldest
from jobs.runs import LONGEST_REFIT_NS, Stopped, recorded
from jobs.schedule import REFIT
from jobs.service import describe_exit
from migrations import open_state
from models.refit import Refit

_WAIT_SECONDS = 0.2
_ONE_THREAD = {"OMP_NUM_THREADS": "1"}
"""A refit leaves the other cores to the work that is being watched. `models.threads` limits learning alone, and once
OpenBLAS, which goes by this as well, has started a thread a core."""


class RefitJob:
    """`run` is called from one thread, which outlives the children it starts."""

    def __init__(
        self,
        settings: Settings,
        data: DataFolder,
        clock: Clock,
        stop: threading.Event,
        module: str = "jobs.refit",
    ) -> None:
        self._data = data
        self._clock = clock
        self._stop = stop
        self._module = module
        self._environment = settings_environment(settings) | _ONE_THREAD

    def run(self) -> int:
        """Do all that is asked for; returns how many refits were tried. What fails is recorded, and not tried again.

        A request whose run cannot be recorded stays.
        """
        try:
            connection = open_state(self._data.state_db)
            try:
                return self._run_requests(connection)
            finally:
                connection.close()
        except (HostsightError, sqlite3.Error):
            return 0  # the live job, which needs the same database, says so

    def _run_requests(self, connection: sqlite3.Connection) -> int:
        tried = 0
        while not self._stop.is_set() and (request := oldest(connection)) is not None:
            try:
                with recorded(connection, REFIT, self._clock) as run:
                    run.items = self._in_child(request).windows
            except Stopped:
                return tried
            except sqlite3.Error:  # it could not be recorded that it runs: the request waits
                raise
            except Exception as error:  # noqa: BLE001  # recorded; the next request has its turn
                tell(error)
            done(connection, request)
            tried += 1
        return tried

    def _in_child(self, request: Request) -> Refit:
        """Raises ModelError with the child's own words, or what ended it."""
        process = child.start(
            self._module,
            [str(self._data.root), request.host, request.why],
            environment=self._environment,
            output=subprocess.PIPE,
            errors=subprocess.PIPE,
        )
        with process:
            output, errors = self._wait(process)
        if process.returncode:
            words = errors.decode("utf-8", "replace").strip().splitlines()
            raise ModelError(
                words[-1]
                if words and process.returncode > 0
                else f"the refit of {request.host} {describe_exit(process.returncode)}; it is tried again when next due"
            )
        return msgspec.json.decode(output, type=Refit)

    def _wait(self, process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
        limit_ns = self._clock.monotonic_ns() + LONGEST_REFIT_NS
        while True:
            try:
                return process.communicate(timeout=_WAIT_SECONDS)
            except subprocess.TimeoutExpired:
                pass
            if self._stop.is_set():
                process.kill()
                raise Stopped
            if self._clock.monotonic_ns() > limit_ns:
                process.kill()
                raise ModelError("the refit took over an hour and was stopped; lower [detect] train_windows")
