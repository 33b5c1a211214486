"""Ad-hoc queries: one read-only statement, in a process of its own that can be stopped at any time.

The process (`sql.worker`) can open no file, use no more memory than `[sql] memory` and run no longer than
`[sql] timeout`, so that nothing a person types can harm or stall what is watching the host.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO, cast

import msgspec
import pyarrow as pa

from hostsight.errors import CorruptError, HostsightError, StorageError, UsageError
from hostsight.folders import DataFolder
from hostsight.settings import SqlSettings
from ingest.lake import KINDS, Lake
from sql.worker import Failure, Request

_GRACE_SECONDS = 1.0
_PASSED_ON = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "LD_LIBRARY_PATH",
)
_UNREAD = re.compile(r"reading the stream registered as '(\w+)' failed")
_OWN = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True)
class QueryResult:
    """`truncated`: there are more rows than were asked for. `seconds`: from start to the last row."""

    table: pa.Table
    truncated: bool
    seconds: float


def run_query(data: DataFolder, settings: SqlSettings, text: str, *, rows: int | None = None) -> QueryResult:
    """Run one statement and wait for its rows (at most `rows`).

    Raises UsageError for a query that is wrong, not allowed, too slow or too large, and StorageError.
    """
    with start_query(data, settings, text, rows=rows) as query:
        result = query.wait()
        assert result is not None  # noqa: S101  # without a time-out, wait returns when there is a result
        return result


def start_query(
    data: DataFolder, settings: SqlSettings, text: str, *, rows: int | None = None
) -> RunningQuery:
    """Start one statement; any thread may wait for it or cancel it."""
    return RunningQuery(data, settings, text, rows)


class RunningQuery:
    def __init__(self, data: DataFolder, settings: SqlSettings, text: str, rows: int | None) -> None:
        self._data = data
        self._settings = settings
        self._rows = rows
        self._started = time.monotonic()
        self._stopped_by = ""
        self._outcome: QueryResult | HostsightError | None = None
        self._done = threading.Event()
        request = _encode(data, settings, text, rows)
        self._process = _spawn()
        self._timer = threading.Timer(settings.timeout, self._expire)
        self._timer.daemon = True
        self._timer.start()
        threading.Thread(target=self._run, args=(request,), daemon=True).start()

    def __enter__(self) -> RunningQuery:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()
        self._done.wait()

    @property
    def done(self) -> bool:
        return self._done.is_set()

    @property
    def cancelled(self) -> bool:
        return self._stopped_by == "cancel"

    def cancel(self) -> None:
        """End the query's process; does nothing when it is done. Returns at once."""
        self._stop("cancel")

    def wait(self, timeout: float | None = None) -> QueryResult | None:
        """The rows, or None where the query still runs after `timeout` seconds. Raises as `run_query` does."""
        if not self._done.wait(timeout):
            return None
        if isinstance(self._outcome, HostsightError):
            raise self._outcome
        return self._outcome

    def _expire(self) -> None:
        self._stop("timeout")

    def _stop(self, reason: str) -> None:
        if not self._done.is_set():
            self._stopped_by = self._stopped_by or reason
            self._process.kill()

    def _run(self, request: bytes) -> None:
        try:
            self._outcome = self._result(request)
        except HostsightError as error:
            self._outcome = error
        except Exception as error:  # noqa: BLE001  # shown to the person who waits
            self._outcome = StorageError(f"the query's process cannot be used: {error}; try again")
        finally:
            self._timer.cancel()
            self._process.kill()
            self._process.wait()
            _close(self._process)
            self._done.set()

    def _result(self, request: bytes) -> QueryResult:
        table, words = self._exchange(request)
        if table is None:
            raise self._error(words)
        truncated = self._rows is not None and table.num_rows > self._rows
        shown = table.slice(0, self._rows) if truncated else table
        return QueryResult(shown, truncated, time.monotonic() - self._started)

    def _exchange(self, request: bytes) -> tuple[pa.Table | None, bytes]:
        """The rows, None where the process failed, and what it said."""
        process = self._process
        stdin, stdout, stderr = (
            cast(BinaryIO, pipe) for pipe in (process.stdin, process.stdout, process.stderr)
        )
        try:
            stdin.write(request)
            stdin.flush()
            table = self._read(stdout)
        except (BrokenPipeError, pa.ArrowInvalid, OSError):
            table = None
        words = stderr.read()
        return (table if process.wait() == 0 else None), words

    def _read(self, stdout: BinaryIO) -> pa.Table:
        with pa.ipc.open_stream(stdout) as stream:
            batches, size = [], 0
            for batch in stream:
                batches.append(batch)
                size += batch.nbytes
                if size > self._settings.memory:
                    self._stop("size")
            return pa.Table.from_batches(batches, stream.schema)

    def _error(self, words: bytes) -> HostsightError:
        """Why there are no rows."""
        limits = self._settings
        match self._stopped_by:
            case "cancel":
                return UsageError("the query was cancelled")
            case "timeout":
                return UsageError(
                    f"the query was stopped after [sql] timeout = {limits.timeout}; narrow it by time or channel, or raise the setting"
                )
            case "size":
                return UsageError(
                    f"the result is larger than [sql] memory = {limits.memory}; add LIMIT, or aggregate"
                )
        failure = _decode(words, self._process.returncode)
        if failure.kind == "memory":
            return UsageError(
                f"the query needs more than [sql] memory = {limits.memory}; narrow it by time or channel, or raise the setting"
            )
        if unread := _UNREAD.match(failure.message):
            return self._unreadable(unread[1], failure.message)
        return UsageError(failure.message) if failure.kind == "usage" else StorageError(failure.message)

    def _unreadable(self, kind: str, words: str) -> StorageError:
        """Damaged files of the lake are set aside, so that one bad file does not stop every query."""
        lake = Lake(self._data)
        damaged = [
            file for known in KINDS if known == kind for file in lake.set_damaged_aside(lake.files(known))
        ]
        if not damaged:
            return StorageError(f"{self._data.lake} could not be read ({words}); run the query again")
        others = f" and {len(damaged) - 1} more" if len(damaged) > 1 else ""
        return CorruptError(
            f"not what was written, so set aside as *.bad and left out from now on: {damaged[0].path}{others}; run the query again"
        )


def _encode(data: DataFolder, settings: SqlSettings, text: str, rows: int | None) -> bytes:
    request = Request(
        data=str(data.root),
        text=text,
        rows=None if rows is None else rows + 1,
        memory=int(settings.memory),
        seconds=float(settings.timeout) + _GRACE_SECONDS,
    )
    try:
        return msgspec.json.encode(request) + b"\n"
    except UnicodeEncodeError as error:
        raise UsageError("the query is not valid UTF-8 text; write it in UTF-8") from error


def _spawn() -> subprocess.Popen[bytes]:
    """-P keeps the current folder, which may hold a `sql/` of its own, out of the search path."""
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "sql.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(os.environ),
            start_new_session=True,
        )
    except OSError as error:
        raise StorageError(f"no process can be started for the query: {error.strerror}; try again") from error


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    """No secrets: only what Python needs to start."""
    return {name: environment[name] for name in _PASSED_ON if name in environment} | _OWN


def _decode(words: bytes, status: int) -> Failure:
    """What the process said last. One that a signal ended could get no memory, or no more of its stack."""
    try:
        return msgspec.json.decode(words[words.rindex(b'{"kind"') :], type=Failure)
    except (ValueError, msgspec.DecodeError):
        if status < 0:
            return Failure("memory", "")
    last = words.decode("utf-8", "replace").strip().rpartition("\n")[2]
    return Failure("storage", f"the query's process failed ({last or status}); try again")


def _close(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:
                continue
