"""One long-running child process: started, watched, started again with a back-off when it ends by itself."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from hostsight.clock import SECOND_NS, Clock
from hostsight.errors import StorageError
from hostsight.files import storage_error
from hostsight.timerange import format_duration
from jobs import child

FIRST_DELAY_SECONDS = 1.0
LONGEST_DELAY_SECONDS = 60.0
LOG_LIMIT_BYTES = 2**20
_LAST_BYTES = 8192

Launch = Callable[["ServiceSpec"], "subprocess.Popen[bytes]"]


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """`module` runs as `python -m` does; what it prints goes to `log`."""

    name: str
    module: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    log: Path


def launch(spec: ServiceSpec) -> subprocess.Popen[bytes]:
    """Raises StorageError where the log may not be written."""
    try:
        _bound(spec.log)
        with spec.log.open("ab") as log:
            return child.start(
                spec.module,
                spec.arguments,
                environment=spec.environment,
                output=log,
                errors=subprocess.STDOUT,
            )
    except OSError as error:
        raise storage_error(error, "writing", spec.log) from error


def _bound(log: Path) -> None:
    """Move what a log holds into `.log.1` once it is long. A child that runs appends, so it goes on at the new end."""
    try:
        if log.stat().st_size <= LOG_LIMIT_BYTES:
            return
    except FileNotFoundError:
        return
    with suppress(OSError):  # without room for a copy it is let go
        shutil.copyfile(log, log.with_suffix(".log.1"))
    os.truncate(log, 0)


@dataclass(slots=True)
class Service:
    """Call `tend` a few times a second; it bounds the log too. A run of over a minute resets the back-off.

    Raises StorageError where the first start fails; a later one, as on a full disk, is tried again.
    """

    spec: ServiceSpec
    clock: Clock
    say: Callable[[str], None]
    launch: Launch = launch
    starts: int = 0
    pids: set[int] = field(default_factory=set, init=False)
    """Of all its runs."""
    failure: str | None = field(default=None, init=False)
    """Why the newest run that ended by itself did so, or could not begin."""
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _delay_seconds: float = field(default=FIRST_DELAY_SECONDS, init=False)
    _started_ns: int = field(default=0, init=False)
    _due_ns: int = field(default=0, init=False)

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def tend(self) -> None:
        """Start it when it is due; notice when it has ended."""
        now_ns = self.clock.monotonic_ns()
        if self._process is None:
            if now_ns >= self._due_ns:
                self._start(now_ns)
            return
        code = self._process.poll()
        if code is not None:
            self._ended(code, now_ns)
        with suppress(OSError):
            _bound(self.spec.log)

    def _start(self, now_ns: int) -> None:
        try:
            self._process = self.launch(self.spec)
        except StorageError as error:
            if not self.starts:
                raise
            self._back_off(now_ns, f"could not be started: {error}")
            return
        self.pids.add(self._process.pid)
        self._started_ns = now_ns
        self.starts += 1

    def _ended(self, code: int, now_ns: int) -> None:
        if now_ns - self._started_ns > LONGEST_DELAY_SECONDS * SECOND_NS:
            self._delay_seconds = FIRST_DELAY_SECONDS
        self._process = None
        self._back_off(now_ns, f"{describe_exit(code)}{self._last_words()}")

    def _back_off(self, now_ns: int, what: str) -> None:
        self.failure = what
        self._due_ns = now_ns + round(self._delay_seconds * SECOND_NS)
        self.say(f"{self.spec.name} {what}; starting it again in {format_duration(self._delay_seconds)}")
        self._delay_seconds = min(2 * self._delay_seconds, LONGEST_DELAY_SECONDS)

    def _last_words(self) -> str:
        try:
            with self.spec.log.open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - _LAST_BYTES))
                lines = log.read().decode("utf-8", "replace").splitlines()
        except OSError:
            return ""
        return f": {lines[-1].strip()}" if lines and lines[-1].strip() else ""

    def ask_to_stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def wait(self, seconds: float) -> None:
        """Wait for its end; after `seconds` it is killed."""
        if self._process is None:
            return
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.say(f"{self.spec.name} did not stop within {format_duration(seconds)}; killed")
            self._process.kill()
            self._process.wait()
        self._process = None


def describe_exit(code: int) -> str:
    """`stopped (exit code 3)` or `was killed (SIGKILL)`, of a Popen return code."""
    if code >= 0:
        return f"stopped (exit code {code})"
    try:
        return f"was killed ({signal.Signals(-code).name})"
    except ValueError:
        return f"was killed (signal {-code})"
