"""The process in which one ad-hoc query runs: `python -P -m sql.worker`, started by `sql.adhoc`.

In: a `Request` as one line of JSON on stdin, which then stays open; when it closes, this process ends.
Out: the rows as an Arrow IPC stream on stdout; or exit status 1 and a `Failure` as JSON on stderr.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
from pathlib import Path
from typing import BinaryIO, Literal

import duckdb
import msgspec
import pyarrow as pa

from hostsight.errors import HostsightError, UsageError
from hostsight.folders import DataFolder
from sql.engine import NO_PROGRESS
from sql.guard import TOO_DEEP, check, engine_message
from sql.views import create_arrow_views, view_names

_BATCH_ROWS = 50_000
_LONGEST_MESSAGE = 1000
"""Characters. The caller reads stderr after stdout has ended: what is written before that must fit into the pipe."""
_OVERHEAD_BYTES = 512 << 20
"""Address space beside the query's own memory: stacks of pyarrow's threads, allocator arenas."""


class Request(msgspec.Struct, frozen=True):
    """`rows`: how many to give at most; the caller asks for one more than it shows."""

    data: str
    text: str
    rows: int | None
    memory: int
    seconds: float


class Failure(msgspec.Struct, frozen=True):
    """`memory`: more than the request allows was needed; `usage`: the query is wrong; `storage`: the data folder is."""

    kind: Literal["usage", "memory", "storage"]
    message: str


def main() -> int:
    request = msgspec.json.decode(sys.stdin.buffer.readline(), type=Request)
    _limit_time(request.seconds)
    threading.Thread(target=_end_with_caller, daemon=True).start()
    try:
        _answer(request, sys.stdout.buffer)
    except BaseException as error:  # noqa: BLE001  # whatever it is, the caller must be told in its own words
        sys.stderr.buffer.write(msgspec.json.encode(_failure(error)))
        return 1
    return 0


def _limit_time(seconds: float) -> None:
    """The kernel ends this process then, whatever it is doing."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _end_with_caller() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


def _answer(request: Request, out: BinaryIO) -> None:
    with locked_connection(request.memory) as connection:
        create_arrow_views(connection, DataFolder(Path(request.data)))
        _limit_process(request.memory)
        query = connection.sql(check(connection, request.text, view_names()))
        if request.rows is not None:
            query = query.limit(request.rows)
        reader = query.to_arrow_reader(_BATCH_ROWS)
        with pa.ipc.new_stream(out, reader.schema) as stream:
            for batch in reader:
                stream.write_batch(batch)
        out.flush()


def locked_connection(memory: int) -> duckdb.DuckDBPyConnection:
    """A database that can open no file, not even to spill, looks at no Python variable, and stays so."""
    connection = duckdb.connect(
        config={
            "threads": 2,
            "memory_limit": f"{int(memory)}B",
            "temp_directory": "",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
        }
    )
    connection.execute(NO_PROGRESS)
    connection.execute("SET TimeZone = 'UTC'")  # as the views are, whatever this machine's
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _limit_process(memory: int) -> None:
    """What DuckDB's own memory limit misses fails in malloc; no file can grow by this process."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    limit = pages * resource.getpagesize() + memory + _OVERHEAD_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _failure(error: BaseException) -> Failure:
    if _is_memory(error):
        return Failure("memory", "")
    if isinstance(error, RecursionError):
        return Failure("usage", TOO_DEEP)
    if isinstance(error, duckdb.Error):
        return Failure("usage", _cut(engine_message(error)))
    kind: Literal["usage", "storage"] = "usage" if isinstance(error, UsageError) else "storage"
    message = str(error) if isinstance(error, HostsightError) else f"{type(error).__name__}: {error}"
    return Failure(kind, _cut(message))


def _is_memory(error: BaseException) -> bool:
    """Some functions of DuckDB allocate behind its back and call what fails then an internal error."""
    if isinstance(error, duckdb.InternalException):
        return "allocation failure" in str(error)
    return isinstance(error, duckdb.OutOfMemoryException | MemoryError | pa.ArrowMemoryError)


def _cut(message: str) -> str:
    return message if len(message) <= _LONGEST_MESSAGE else message[:_LONGEST_MESSAGE] + " ..."


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # the thread that waits for the caller would hold up a normal exit
