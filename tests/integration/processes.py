"""Real processes of hostsight on a data folder, and waiting for what they do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from hostsight.folders import DataFolder
from ingest.heartbeat import read_heartbeat
from jobs.progress import read_progress

HOST = "tested"
DEADLINE_SECONDS = 90.0
REPOSITORY = Path(__file__).resolve().parent.parent.parent


class Process:
    """`hostsight agent` or `hostsight serve`; what it prints goes to `log`."""

    def __init__(self, name: str, data: DataFolder, log: Path, **settings: str) -> None:
        self.name = name
        self.log = log
        self._data = data
        self._environment = os.environ | {"HOSTSIGHT_AGENT_HOST": HOST} | settings
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "cli.main", "--data", str(self._data.root), self.name],
                env=self._environment,
                cwd=REPOSITORY,
                stdout=log,
                stderr=log,
            )

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def words(self) -> str:
        return self.log.read_text("utf-8")

    def is_working(self) -> bool:
        """Whether this very process has reported of itself."""
        report = read_heartbeat(self._data) if self.name == "agent" else read_progress(self._data)
        return report is not None and report.pid == self.pid

    def kill(self) -> None:
        assert self._process is not None
        assert self.alive, self.words
        self._process.kill()
        self._process.wait()

    def wait(self) -> int:
        assert self._process is not None
        return self._process.wait(DEADLINE_SECONDS)

    def stop(self) -> int:
        """Ask it to end, and give its exit code; 0 where it was never started."""
        if self._process is None:
            return 0
        self._process.send_signal(signal.SIGTERM)
        return self.wait()


def wait_for(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + DEADLINE_SECONDS
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < end, f"{what} did not come within {DEADLINE_SECONDS} s"
        pause.wait(0.02)
