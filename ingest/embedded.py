"""The embedded store: the spool of this machine, read as a store while the agent writes it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import ClassVar, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hostsight.channel import Channel
from hostsight.clock import SECOND_NS, floor_second
from hostsight.errors import CorruptError
from hostsight.files import delete
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from hostsight.timerange import TimeRange
from ingest.influx.position import unsent_from
from ingest.segment import SegmentName, SegmentReader, Ticks, list_segments
from ingest.store import SAMPLES
from migrations import open_state

_Number = TypeVar("_Number", bound=np.generic)
_READERS = 32
"""Segments whose index is kept between two calls; polling needs the newest alone."""
_KEPT_NS = 600 * SECOND_NS
"""How much stays in the spool after the pipeline had it: windows reach back, and the kernel may not have written the lake's
files to the disk yet."""


class EmbeddedStore:
    """A `Store` over `spool/`. A call costs a listing of the folder and what was written since the last one.

    After the clock was set back, `span` follows the newest segment: its end may lie before an end it gave earlier.
    Not for use by two threads at once.
    """

    name: ClassVar[str] = "embedded"

    def __init__(self, data: DataFolder, settings: Settings) -> None:
        self._folder = data.spool
        self._state_db = data.state_db
        self._overlap_ns = max(2 * settings.spool.segment.ns, 600 * SECOND_NS)
        self._names: list[SegmentName] = []
        self._readers: OrderedDict[SegmentName, SegmentReader] = OrderedDict()
        self._complete: set[SegmentName] = set()
        self._layouts: dict[SegmentName, tuple[Channel, ...]] = {}
        self._channels: dict[str, tuple[Channel, ...]] = {}
        self._problems: dict[SegmentName, str] = {}

    @property
    def problems(self) -> tuple[str, ...]:
        """A sentence for each segment met so far, and still there, that is damaged or unreadable."""
        return tuple(self._problems.values())

    def hosts(self) -> Sequence[str]:
        return sorted({name.host for name in list_segments(self._folder)})

    def span(self, host: str) -> TimeRange | None:
        """The second of a batch is complete once the batch is there: the agent flushes after the second is over.

        A batch marked partial (the agent stopped within that second) is complete up to the second before.
        """
        names = self._list(host)
        for name in reversed(names):
            reader = self._reader(name, growing=name == names[-1])
            if reader.frames:
                start = floor_second(min(name.start_ns for name in names))
                return TimeRange(start, max(start, reader.frames[-1].complete_until_ns))
        return None

    def channels(self, host: str) -> Sequence[Channel]:
        """Those of the segments met so far that were still there at the last listing."""
        if not any(name.host == host for name in self._layouts):
            self.span(host)
        if host not in self._channels:
            different = {id(layout): layout for name, layout in self._layouts.items() if name.host == host}
            by_id = {channel.id: channel for layout in different.values() for channel in layout}
            self._channels[host] = tuple(by_id.values())
        return self._channels[host]

    def export(self, host: str, span: TimeRange) -> pa.Table:
        layouts: dict[tuple[int, ...], list[Ticks]] = {}
        for name, reader in self._overlapping(host, span):
            layouts.setdefault(reader.layout, []).extend(self._ticks(name, reader, span))
        tables = [_samples(layout, ticks) for layout, ticks in layouts.items() if ticks]
        if len(tables) == 1:
            return tables[0]
        return pa.concat_tables([SAMPLES.empty_table(), *tables]).sort_by(
            [("channel_id", "ascending"), ("ts", "ascending")]
        )

    def release(self, host: str, done_ns: int) -> int:
        """Delete segments whose samples the pipeline has had, all before `done_ns`; returns how many.

        Ten minutes stay, so does what is damaged or still to be sent to InfluxDB, and all while the clock is behind
        `done_ns`: it was set back. Raises StorageError.
        """
        stored = self.span(host)
        if stored is None or stored.end_ns < done_ns:
            return 0
        released = 0
        unsent = self._unsent_from(host, done_ns)
        for name in self._list(host)[:-1]:
            if unsent is not None and name.number >= unsent:
                break
            if name.start_ns < done_ns - _KEPT_NS and self._is_read(name, done_ns - _KEPT_NS):
                released += delete(self._folder / str(name)) > 0
        return released

    def _unsent_from(self, host: str, now_ns: int) -> int | None:
        if not self._state_db.exists():
            return None
        connection = open_state(self._state_db, read_only=True)
        try:
            return unsent_from(connection, host, now_ns)
        finally:
            connection.close()

    def _is_read(self, name: SegmentName, before_ns: int) -> bool:
        frames = self._reader(name, growing=False).frames
        return name not in self._problems and bool(frames) and frames[-1].last_ns < before_ns

    def _list(self, host: str) -> list[SegmentName]:
        names = list_segments(self._folder)
        if names != self._names:
            self._names = names
            self._forget_deleted(set(names))
        return [name for name in names if name.host == host]

    def _forget_deleted(self, present: set[SegmentName]) -> None:
        for name in self._readers.keys() - present:
            del self._readers[name]
        for name in self._problems.keys() - present:
            del self._problems[name]
        for name in self._layouts.keys() - present:
            del self._layouts[name]
            self._channels.pop(name.host, None)
        self._complete &= present

    def _overlapping(self, host: str, span: TimeRange) -> Iterator[tuple[SegmentName, SegmentReader]]:
        """Readers of the segments that may hold ticks of `span`, in the order of writing.

        A segment ends where the next one starts, unless the clock was set back meanwhile; so a few more are looked at.
        """
        names = self._list(host)
        for index, name in enumerate(names):
            following = names[index + 1] if index + 1 < len(names) else None
            ends = max(following.start_ns, name.start_ns + self._overlap_ns) if following else span.end_ns
            if name.start_ns < span.end_ns and ends > span.start_ns:
                yield name, self._reader(name, growing=following is None)

    def _reader(self, name: SegmentName, *, growing: bool) -> SegmentReader:
        """The reader of a segment with all its frames found; the least recently used one is forgotten."""
        reader = self._readers.get(name) or SegmentReader(self._folder / str(name))
        self._readers[name] = reader
        self._readers.move_to_end(name)
        if name not in self._complete:
            reader.refresh()
            self._note(name, reader)
        if not growing:
            self._complete.add(name)
        if len(self._readers) > _READERS:
            self._complete.discard(self._readers.popitem(last=False)[0])
        return reader

    def _note(self, name: SegmentName, reader: SegmentReader) -> None:
        if reader.channels and name not in self._layouts:
            before = next(reversed(self._layouts.values()), ())
            self._layouts[name] = before if before == reader.channels else reader.channels
            self._channels.pop(name.host, None)
        if reader.problem is not None:
            self._problems[name] = reader.problem
        elif reader.damaged:
            self._problems[name] = f"{reader.path} is damaged in {reader.damaged} places; the rest was read"

    def _ticks(self, name: SegmentName, reader: SegmentReader, span: TimeRange) -> Iterator[Ticks]:
        for frame in reader.frames:
            if frame.last_ns < span.start_ns or frame.first_ns >= span.end_ns:
                continue
            try:
                ticks = reader.read(frame)
            except CorruptError as error:
                self._problems[name] = str(error)
                continue
            if ticks is not None:
                yield _within(ticks, span)


def _within(ticks: Ticks, span: TimeRange) -> Ticks:
    inside = (ticks.ts >= span.start_ns) & (ticks.ts < span.end_ns)
    return ticks if inside.all() else Ticks(ticks.ts[inside], ticks.dt[inside], ticks.values[inside])


def _samples(layout: tuple[int, ...], blocks: list[Ticks]) -> pa.Table:
    """SAMPLES of ticks that share one layout; a time stamp that occurs twice counts once."""
    ts, first = np.unique(np.concatenate([block.ts for block in blocks]), return_index=True)
    dt = np.concatenate([block.dt for block in blocks])[first]
    order = np.argsort(np.array(layout, np.int64))
    values = np.concatenate([block.values for block in blocks])[first].T[order]
    present = ~np.isnan(values)
    counts = present.sum(axis=1)
    ids = np.repeat(np.array(layout, np.int64)[order], counts)
    return pa.Table.from_arrays(
        [
            pa.array(_spread(ts, present)).view(pa.timestamp("ns")),
            pa.array(ids),
            pa.array(values[present]),
            pa.array(_spread(dt, present)),
        ],
        schema=SAMPLES,
    )


def _spread(column: NDArray[_Number], present: NDArray[np.bool_]) -> NDArray[_Number]:
    """One entry of `column` [ticks] for each true entry of `present` [channels, ticks]."""
    return np.broadcast_to(column, present.shape)[present]
