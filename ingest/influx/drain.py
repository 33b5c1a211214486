"""The drain: the spool, sent to InfluxDB in order, one request at a time, for ever.

While a request is under way the next batch is read and formatted, so that the server need not wait for it.

A batch is in InfluxDB before its position is committed, so a crash between the two sends it again: the same points, which
the server writes over. Once a batch is in, a mark says so: `serve`, on whichever host, reads up to that and no further.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import NamedTuple, Protocol

from hostsight.channel import Channel
from hostsight.clock import SECOND_NS, Clock
from hostsight.errors import RefusedError, StorageError
from hostsight.folders import DataFolder
from hostsight.settings import InfluxSettings
from ingest.influx.backlog import Backlog, Batch
from ingest.influx.catalogue import channel_lines
from ingest.influx.lines import LineFormat, Lines
from ingest.influx.names import PROGRESS, line_text
from ingest.influx.position import Position, Positions
from ingest.influx.rejected import Rejected
from ingest.influx.report import HostDrain

KEPT_NS = 600 * SECOND_NS
"""How much stays in the spool after it was sent, for jobs that read the spool itself."""

MARK_NS = SECOND_NS
"""How often a drain with a backlog says how far it is: each time is a request more, which the server puts on disk."""

MARK_GRID_NS = 600 * SECOND_NS
"""A mark is written over until so much has passed: few points, and none is older than the shortest retention, an hour."""

_HOUR_NS = 3600 * SECOND_NS


class Writer(Protocol):
    def write(self, lines: bytes) -> None: ...


class Drain:
    """Use it from one thread, then close it. `kept_from` tells up to where a host's spool is needed by nobody else on this machine."""

    def __init__(
        self,
        settings: InfluxSettings,
        data: DataFolder,
        positions: Positions,
        clock: Clock,
        kept_from: Callable[[str], int],
    ) -> None:
        self._settings = settings
        self._positions = positions
        self._clock = clock
        self._kept_from = kept_from
        self._backlog = Backlog(data.spool)
        self._rejected = Rejected(data, settings.rejected_max_bytes)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="influx")
        self._hosts: dict[str, _Host] = {}
        self._refusals: dict[str, str] = {}

    @property
    def problems(self) -> tuple[str, ...]:
        return (*self._backlog.problems, *self._refusals.values())

    def step(self, client: Writer) -> bool:
        """Send the next batch of each host; False where there was nothing to send.

        Raises StoreUnavailableError, StorageError and sqlite3.Error; the next step then does the same batch.
        """
        sent = False
        for name in self._backlog.hosts():
            host = self._host(name)
            batch = host.take_ahead() or self._backlog.next(host.position, self._settings.request_values)
            if batch is not None:
                self._announce(client, host, batch)
                self._send(client, host, batch, ahead=True)
                self._release(host)
            if batch is None or self._clock.monotonic_ns() - host.marked_at_ns >= MARK_NS:
                sent = self._mark(client, host) or sent
            sent = batch is not None or sent
        return sent

    def close(self) -> None:
        self._writer.shutdown()

    def hosts(self) -> tuple[HostDrain, ...]:
        return tuple(
            HostDrain(
                host=name,
                until_ns=host.position.until_ns,
                waiting_segments=self._backlog.waiting(host.position),
                sent_values=host.position.sent_values,
                rejected_batches=host.position.rejected_batches,
                rejected_values=host.position.rejected_values,
                dropped_values=host.position.dropped_values,
                lost_segments=host.position.lost_segments,
            )
            for name, host in self._hosts.items()
        )

    def _host(self, name: str) -> _Host:
        if name not in self._hosts:
            position = self._positions.get(name)
            self._positions.put(position, self._clock.wall_ns())  # from now on the spool is kept for it
            self._hosts[name] = _Host(position)
        return self._hosts[name]

    def _send(self, client: Writer, host: _Host, batch: Batch, *, ahead: bool = False) -> None:
        """`ahead`: make the next batch ready while the server works on this one."""
        lines = host.lines(batch)
        writing = self._writer.submit(client.write, lines.text)
        try:
            if ahead:
                host.prepare(self._backlog.following(batch, self._settings.request_values), batch.end_offset)
        finally:
            wait([writing])
        try:
            writing.result()
        except RefusedError as error:
            if len(batch.frames) > 1:
                for half in batch.halves():
                    self._send(client, host, half)
                return
            self._set_aside(host.position, batch, lines, error)
        else:
            host.position.sent_values += lines.values
        self._commit(host.position, batch, lines)

    def _set_aside(self, position: Position, batch: Batch, lines: Lines, error: RefusedError) -> None:
        self._rejected.set_aside(batch.segment, batch.frames[0].offset, lines.text, error.words)
        position.rejected_batches += 1
        position.rejected_values += lines.values

    def _commit(self, position: Position, batch: Batch, lines: Lines) -> None:
        position.byte_offset = batch.end_offset
        position.until_ns = max(position.until_ns, batch.until_ns)
        position.dropped_values += lines.dropped
        self._positions.put(position, self._clock.wall_ns())

    def _announce(self, client: Writer, host: _Host, batch: Batch) -> None:
        """Say what the channels are, where this layout or this hour of telemetry is new."""
        first_ns = batch.frames[0].first_ns
        key = batch.channels, first_ns // _HOUR_NS
        if host.announced != key:
            text = channel_lines(batch.segment.host, batch.channels, first_ns)
            self._tell(client, text, "the channels' units")
            host.announced = key

    def _mark(self, client: Writer, host: _Host) -> bool:
        """Say up to where everything is in."""
        until_ns = host.position.until_ns
        if host.marked_ns == until_ns:
            return False
        ts_ns = self._clock.wall_ns() // MARK_GRID_NS * MARK_GRID_NS
        head = f"{PROGRESS},host={line_text(host.position.host)}"
        self._tell(client, f"{head} until={until_ns // SECOND_NS} {ts_ns}\n".encode(), "how far this host is")
        host.marked_ns = until_ns
        host.marked_at_ns = self._clock.monotonic_ns()
        return True

    def _tell(self, client: Writer, text: bytes, what: str) -> None:
        """Write something of hostsight's own; that the server refuses it is shown, and stops nothing."""
        try:
            client.write(text)
        except RefusedError as error:
            self._refusals[what] = f"InfluxDB refuses to keep {what}: {error.words}"
        else:
            self._refusals.pop(what, None)

    def _release(self, host: _Host) -> None:
        """Once a segment, delete those that are sent and needed no more."""
        position = host.position
        if host.released == position.segment:
            return
        host.released = position.segment
        before_ns = min(position.until_ns, self._kept_from(position.host)) - KEPT_NS
        try:
            self._backlog.release(position.host, position.segment, before_ns)
        except StorageError as error:
            self._refusals["release"] = str(error)


class _Ahead(NamedTuple):
    batch: Batch
    start_offset: int
    lines: Lines


class _Host:
    """What the drain remembers of one host between two steps."""

    def __init__(self, position: Position) -> None:
        self.position = position
        self.announced: tuple[tuple[Channel, ...], int] | None = None
        self.marked_ns = 0
        self.marked_at_ns = 0
        self.released = 0
        self._format: tuple[tuple[Channel, ...], LineFormat] | None = None
        self._ahead: _Ahead | None = None

    def prepare(self, batch: Batch | None, start_offset: int) -> None:
        """Keep `batch`, which follows byte `start_offset`, with its lines."""
        self._ahead = None if batch is None else _Ahead(batch, start_offset, self.lines(batch))

    def take_ahead(self) -> Batch | None:
        """The batch that was made ready, where it is the one that follows the position."""
        ahead = self._ahead
        if ahead is None or ahead.batch.segment.number != self.position.segment:
            return None
        return ahead.batch if ahead.start_offset == self.position.byte_offset else None

    def lines(self, batch: Batch) -> Lines:
        if self._ahead is not None and self._ahead.batch is batch:
            return self._ahead.lines
        if self._format is None or self._format[0] is not batch.channels:
            self._format = batch.channels, LineFormat(batch.segment.host, batch.channels)
        return self._format[1].format(batch.joined())
