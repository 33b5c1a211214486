"""Exports in a thread of its own: what follows is fetched while the caller works on what it got."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, Protocol

from hostsight.errors import HostsightError
from hostsight.timerange import TimeRange
from ingest.influx.export import Export


class Source(Protocol):
    def export(self, host: str, span: TimeRange) -> Export: ...


class _Held(NamedTuple):
    host: str
    span: TimeRange
    found: Future[Export]


class ReadAhead:
    """Holds one range at most. Use it from one thread, then close it; nothing else may use `source` meanwhile."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="export")
        self._held: _Held | None = None

    def export(self, host: str, span: TimeRange, following: TimeRange | None = None) -> Export:
        """What `source` gives; `following` is likely to be asked for next of this host, unless it fell silent.

        Raises as `source` does.
        """
        found = self._take(host, span) or self._worker.submit(self._source.export, host, span).result()
        if following is not None and self._held is None and found.samples.num_rows:
            self._held = _Held(host, following, self._worker.submit(self._source.export, host, following))
        return found

    def _take(self, host: str, span: TimeRange) -> Export | None:
        """What is held, if it is this; what failed ahead of time is tried again when it is wanted."""
        held = self._held
        if held is None or held.host != host:
            return None
        self._held = None
        if held.span != span:
            held.found.cancel()
            return None
        try:
            return held.found.result()
        except HostsightError:
            return None

    def close(self) -> None:
        self._worker.shutdown(cancel_futures=True)
