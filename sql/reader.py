"""The product's own fixed queries: the files of `sql/queries/`, over the lake and the state database as they are now."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hostsight.clock import SECOND_NS
from hostsight.errors import StorageError
from hostsight.folders import DataFolder
from hostsight.timerange import TimeRange
from ingest.lake import Lake
from sql.engine import code, connect, fetch, statement
from sql.guard import engine_message
from sql.views import View, create_views, views

_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Series:
    """Evenly spaced: item i stands for `step_ns` from `start_ns + i * step_ns`; NaN is absent. float64 [steps] each."""

    start_ns: int
    step_ns: int
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Headline:
    """The figure that stands for a subsystem; `values`: float64 [steps], NaN is absent."""

    subsystem: str
    label: str
    unit: str
    start_ns: int
    step_ns: int
    values: NDArray[np.float64]


class Reader:
    """Keeps one connection for all queries, one at a time; any thread may ask. Raises StorageError."""

    def __init__(self, data: DataFolder) -> None:
        self._data = data
        self._lock = threading.Lock()
        self._connection: duckdb.DuckDBPyConnection | None = None

    def query(self, name: str, **bound: object) -> pa.Table:
        """The rows of `sql/queries/NAME.sql`. `start_ns` with `end_ns`, and `host`, also choose the lake files read."""
        text = statement(f"queries/{name}")
        needed = _needed(text)
        for _ in range(_ATTEMPTS):
            try:
                with self._lock:
                    return self._fetch(text, needed, bound)
            except duckdb.Error as error:
                if _is_gone(error):  # compaction replaced a file between listing and reading
                    continue
                if not self._set_damaged_aside(needed, bound):
                    raise StorageError(
                        f"{self._data.lake} cannot be read: {engine_message(error)}"
                    ) from error
        raise StorageError(f"files in {self._data.lake} keep vanishing; is another program deleting them?")

    def close(self) -> None:
        """A later query opens it again."""
        with self._lock:
            self._disconnect()

    def _fetch(self, text: str, needed: Sequence[View], bound: dict[str, object]) -> pa.Table:
        if self._connection is None:
            self._connection = connect()
        names = [view.name for view in needed]
        try:
            create_views(self._connection, self._data, _span(bound), names=names, host=_host(bound))
            return fetch(self._connection, text, bound)
        except duckdb.Error:
            self._disconnect()
            raise

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def series(self, host: str, channel_id: int, span: TimeRange, points: int) -> Series:
        """One channel of `host`, measured or derived, in at most `points` steps of whole seconds."""
        step_ns, steps = _grid(span, points)
        rows = self.query(
            "series", host=host, channel_id=channel_id,
            start_ns=span.start_ns, end_ns=span.end_ns, step_ns=step_ns,
        )  # fmt: skip
        mean, low, high = (_placed(rows["step"], rows[name], steps) for name in ("mean", "low", "high"))
        return Series(span.start_ns, step_ns, mean, low, high)

    def headlines(self, span: TimeRange, points: int) -> dict[str, list[Headline]]:
        """Of each host that has data in `span`, one a subsystem, in the order they are shown."""
        step_ns, steps = _grid(span, points)
        table = self.query("headlines", start_ns=span.start_ns, end_ns=span.end_ns, step_ns=step_ns)
        found: dict[str, list[Headline]] = {}
        for (host, subsystem, label, unit), group in groupby(
            table.to_pylist(), lambda row: (row["host"], row["subsystem"], row["label"], row["unit"])
        ):
            values = np.full(steps, np.nan)
            for row in group:
                values[row["step"]] = row["value"]
            line = Headline(subsystem, label, unit, span.start_ns, step_ns, values)
            found.setdefault(host, []).append(line)
        return found

    def _set_damaged_aside(self, needed: Sequence[View], bound: dict[str, object]) -> bool:
        """Whether one of the files read was damaged; such a file is renamed, so that the rest can be read."""
        lake = Lake(self._data)
        kinds = [view.lake for view in needed if view.lake]
        files = [file for kind in kinds for file in lake.files(kind, host=_host(bound), span=_span(bound))]
        return bool(lake.set_damaged_aside(files))


def _is_gone(error: duckdb.Error) -> bool:
    """Whether a listed file is not there: when the query is bound, or when it is read."""
    gone = ("No files found", "No such file")
    return isinstance(error, duckdb.IOException) and any(words in str(error) for words in gone)


def _needed(text: str) -> list[View]:
    """The views that a query names."""
    words = set(re.findall(r"\w+", code(text)))
    return [view for view in views() if view.name in words]


def _span(bound: dict[str, object]) -> TimeRange | None:
    start_ns, end_ns = bound.get("start_ns"), bound.get("end_ns")
    return TimeRange(start_ns, end_ns) if isinstance(start_ns, int) and isinstance(end_ns, int) else None


def _host(bound: dict[str, object]) -> str | None:
    host = bound.get("host")
    return host if isinstance(host, str) else None


def _grid(span: TimeRange, points: int) -> tuple[int, int]:
    """(length of a step in nanoseconds, number of steps): whole seconds, at most `points` of them."""
    length_ns = max(1, span.end_ns - span.start_ns)
    step_ns = -(-length_ns // (max(1, points) * SECOND_NS)) * SECOND_NS
    return step_ns, -(-length_ns // step_ns)


def _placed(steps: pa.ChunkedArray, values: pa.ChunkedArray, count: int) -> NDArray[np.float64]:
    placed = np.full(count, np.nan)
    placed[steps.to_numpy()] = values.to_numpy()
    return placed
