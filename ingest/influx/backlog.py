"""What of the spool is not in InfluxDB yet, as batches in the order in which they were collected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from hostsight.channel import Channel
from hostsight.errors import CorruptError
from hostsight.files import delete
from ingest.frame import Frame
from ingest.influx.position import Position
from ingest.segment import SegmentName, SegmentReader, Ticks, list_segments


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive frames of one segment, with their ticks; at least one."""

    segment: SegmentName
    channels: tuple[Channel, ...]
    frames: Sequence[Frame]
    ticks: Sequence[Ticks]

    @property
    def end_offset(self) -> int:
        return self.frames[-1].offset + self.frames[-1].length

    @property
    def until_ns(self) -> int:
        return self.frames[-1].complete_until_ns

    def joined(self) -> Ticks:
        parts = zip(*self.ticks, strict=True)
        ts, dt, values = (np.concatenate(part) for part in parts)
        return Ticks(ts, dt, values)

    def halves(self) -> tuple[Batch, Batch]:
        """In order; of a batch of at least two frames."""
        middle = len(self.frames) // 2
        return (
            Batch(self.segment, self.channels, self.frames[:middle], self.ticks[:middle]),
            Batch(self.segment, self.channels, self.frames[middle:], self.ticks[middle:]),
        )


class Backlog:
    """Reads `folder` while the agent writes it; memory holds one segment's index and one batch.

    `problems` has a sentence for each segment met so far, and still there, that is damaged or unreadable.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._reader: tuple[SegmentName, SegmentReader] | None = None
        self._problems: dict[SegmentName, str] = {}

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(self._problems.values())

    def hosts(self) -> list[str]:
        return sorted({name.host for name in list_segments(self._folder)})

    def waiting(self, position: Position) -> int:
        """How many segments hold something, or may, that is not sent."""
        names = self._names(position.host)
        return sum(name.number >= position.segment for name in names)

    def next(self, position: Position, max_values: int) -> Batch | None:
        """What follows `position`, about `max_values` of it; None where there is nothing yet.

        Moves `position` over what holds nothing, and counts segments that were deleted unsent in it. Raises StorageError.
        """
        names = self._names(position.host)
        if names and names[-1].number < position.segment:
            position.segment = position.byte_offset = 0  # the spool was emptied, and counts from one again
        for name in names:
            if name.number < position.segment:
                continue
            self._enter(position, name)
            if batch := self._read(name, position.byte_offset, max_values):
                return batch
        return None

    def following(self, batch: Batch, max_values: int) -> Batch | None:
        """What follows `batch` in its own segment so far, about `max_values` of it. Raises StorageError."""
        return self._read(batch.segment, batch.end_offset, max_values)

    def release(self, host: str, before_segment: int, before_ns: int) -> int:
        """Delete segments of `host` that lie before both and are not damaged; returns how many. Raises StorageError."""
        names = self._names(host)
        released = 0
        for name, following in pairwise(names):
            done = following.number <= before_segment and following.start_ns <= before_ns
            if done and name not in self._problems:
                released += delete(self._folder / str(name)) > 0
        return released

    def _names(self, host: str) -> list[SegmentName]:
        names = list_segments(self._folder)
        for name in self._problems.keys() - set(names):
            del self._problems[name]
        return [name for name in names if name.host == host]

    def _enter(self, position: Position, name: SegmentName) -> None:
        if name.number == position.segment:
            return
        if position.segment:
            present = {found.number for found in list_segments(self._folder)}
            between = range(position.segment + 1, name.number)
            position.lost_segments += sum(number not in present for number in between)
        position.segment, position.byte_offset = name.number, 0

    def _read(self, name: SegmentName, offset: int, max_values: int) -> Batch | None:
        reader = self._opened(name)
        reader.refresh()
        self._note(name, reader)
        frames: list[Frame] = []
        ticks: list[Ticks] = []
        values = 0
        for frame in reader.frames:
            if frame.offset < offset:
                continue
            read = self._ticks(name, reader, frame)
            if read is not None:
                frames.append(frame)
                ticks.append(read)
                values += read.values.size
            if values >= max_values:
                break
        return Batch(name, reader.channels, frames, ticks) if frames else None

    def _opened(self, name: SegmentName) -> SegmentReader:
        if self._reader is None or self._reader[0] != name:
            self._reader = name, SegmentReader(self._folder / str(name))
        return self._reader[1]

    def _ticks(self, name: SegmentName, reader: SegmentReader, frame: Frame) -> Ticks | None:
        try:
            return reader.read(frame)
        except CorruptError as error:
            self._problems[name] = str(error)
            return None

    def _note(self, name: SegmentName, reader: SegmentReader) -> None:
        if reader.problem is not None:
            self._problems[name] = reader.problem
        elif reader.damaged:
            self._problems[name] = f"{reader.path} is damaged in {reader.damaged} places; the rest was read"
