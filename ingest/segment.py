"""Segments: the spool's files, each an Arrow IPC stream of one minute of one host with a batch a second.

Columns: `ts` (nanoseconds since the epoch), `dt` (the tick's length in seconds), `values` (a fixed-size list of float32,
one a channel, NaN is absent). The channels stand in the schema's metadata. Every message is a frame (`ingest.frame`).
Files are named `<number>~<host>~<start_ns>.arrow`; numbers grow in the order of writing, whatever the clock does.
"""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hostsight.channel import Channel
from hostsight.errors import CorruptError
from hostsight.files import storage_error
from ingest.frame import Frame, frames, seal

FORMAT = "1"
_SUFFIX = ".arrow"


class Ticks(NamedTuple):
    """Consecutive ticks of one layout: ts int64 [ticks] in ns, dt float32 [ticks] in seconds, values float32 [ticks, channels]."""

    ts: NDArray[np.int64]
    dt: NDArray[np.float32]
    values: NDArray[np.float32]


@dataclass(frozen=True, slots=True, order=True)
class SegmentName:
    """What a segment's file name says."""

    number: int
    host: str
    start_ns: int

    def __str__(self) -> str:
        return f"{self.number:010d}~{quote_host(self.host)}~{self.start_ns}{_SUFFIX}"

    @staticmethod
    @lru_cache(maxsize=8192)
    def parse(name: str) -> SegmentName | None:
        """None for a file that is no segment."""
        parts = name.removesuffix(_SUFFIX).split("~")
        if (
            not name.endswith(_SUFFIX)
            or len(parts) != 3
            or not (parts[0].isdecimal() and parts[2].isdecimal())
        ):
            return None
        return SegmentName(int(parts[0]), unquote_host(parts[1]), int(parts[2]))


def quote_host(host: str) -> str:
    """A host's name as part of a file name: reversible, without `~`, `/` or a leading dot."""
    quoted = quote(host, safe="", errors="surrogateescape").replace("~", "%7E")
    return "%2E" + quoted[1:] if quoted.startswith(".") else quoted


def unquote_host(quoted: str) -> str:
    return unquote(quoted, errors="surrogateescape")


def list_segments(folder: Path) -> list[SegmentName]:
    """All segments in `folder` in the order of writing; none where the folder does not exist. Raises StorageError."""
    try:
        names = os.listdir(folder)  # noqa: PTH208  # one call, no Path a file: this is polled
    except FileNotFoundError:
        return []
    except OSError as error:
        raise storage_error(error, "listing", folder) from error
    return [found for name in sorted(names) if (found := SegmentName.parse(name)) is not None]


def header_frame(host: str, channels: Sequence[Channel], start_ns: int) -> bytes:
    """The first frame of a segment: its schema, with the host and the channels in the metadata."""
    metadata = {
        "hostsight.format": FORMAT,
        "hostsight.host": json.dumps(host),
        "hostsight.channels": _pack_channels(channels),
    }
    schema = batch_schema(len(channels)).with_metadata(metadata)
    return seal(memoryview(schema.serialize()), start_ns, start_ns)


class SegmentReader:
    """Reads one segment, the growing one included: `refresh` goes on from where the last one stopped.

    `channels` are those of each tick's values in order, `layout` their ids, both empty until the header was found.
    `frames` are the whole batches so far, `damaged` counts stretches of bytes that were skipped between them. `problem`
    is a sentence where the segment cannot be read at all; it then has no frames. A deleted file keeps what was found.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.host = ""
        self.channels: tuple[Channel, ...] = ()
        self.layout: tuple[int, ...] = ()
        self.frames: list[Frame] = []
        self.damaged = 0
        self.problem: str | None = None
        self._schema: pa.Schema | None = None
        self._offset = 0

    def refresh(self) -> None:
        """Find the frames written since; raises StorageError where the file is there but cannot be read."""
        content = b"" if self.problem else self._pread(self._offset, -1)
        base, end = self._offset, 0
        for frame in frames(content):
            self.damaged += frame.offset > end
            end = frame.offset + frame.length
            self._found(replace(frame, offset=base + frame.offset), content[frame.offset : end])
        self._offset = base + end

    def read(self, frame: Frame) -> Ticks | None:
        """The ticks of one of `frames`; None where the file was deleted. Raises CorruptError, StorageError."""
        content = self._pread(frame.offset, frame.length)
        if not content or self._schema is None:
            return None
        try:
            batch = pa.ipc.read_record_batch(pa.py_buffer(content), self._schema)
        except (pa.ArrowException, OSError) as error:
            raise CorruptError(
                f"{self.path} at byte {frame.offset} is not what was written: {error}"
            ) from error
        return Ticks(
            batch.column("ts").cast(pa.int64()).to_numpy(),
            batch.column("dt").to_numpy(),
            batch.column("values").flatten().to_numpy().reshape(batch.num_rows, len(self.channels)),
        )

    def _found(self, frame: Frame, content: bytes) -> None:
        if self.problem is not None:
            return
        if self._schema is not None:
            self.frames.append(frame)
        elif frame.offset > 0:
            self.problem = f"{self.path} has a damaged header; its minute cannot be read"
        else:
            self._read_header(content)

    def _read_header(self, content: bytes) -> None:
        try:
            schema = pa.ipc.read_schema(pa.py_buffer(content))
            metadata = schema.metadata or {}
            if (written := metadata[b"hostsight.format"].decode()) != FORMAT:
                self.problem = f"{self.path} has format {written}, this hostsight reads {FORMAT}; upgrade it"
                return
            self.host = json.loads(metadata[b"hostsight.host"])
            self.channels = _unpack_channels(self.host, metadata[b"hostsight.channels"])
            self.layout = tuple(channel.id for channel in self.channels)
            self._schema = schema
        except (pa.ArrowException, KeyError, TypeError, ValueError, zlib.error) as error:
            self.problem = f"{self.path} is no segment of hostsight: {error}"

    def _pread(self, offset: int, length: int) -> bytes:
        """`length` bytes from `offset`, to the end for -1; none where the file was deleted."""
        try:
            with self.path.open("rb", buffering=0) as file:
                file.seek(offset)
                return file.read(length) or b""
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise storage_error(error, "reading", self.path) from error


@lru_cache(maxsize=16)
def batch_schema(channels: int) -> pa.Schema:
    """Of the batches of so many channels, without metadata."""
    return pa.schema(
        [
            pa.field("ts", pa.timestamp("ns"), nullable=False),
            pa.field("dt", pa.float32(), nullable=False),
            pa.field("values", pa.list_(pa.field("item", pa.float32()), channels), nullable=False),
        ]
    )


def _pack_channels(channels: Sequence[Channel]) -> bytes:
    """Compressed, since 700 channels are 80 kB of text, a seventh of a minute's values; base64, for other readers' sake."""
    rows = [(c.subsystem, c.device, c.metric, c.kind, c.unit, c.period_seconds, c.source) for c in channels]
    return base64.b64encode(zlib.compress(json.dumps(rows).encode("ascii")))


def _unpack_channels(host: str, packed: bytes) -> tuple[Channel, ...]:
    return tuple(Channel(host, *row) for row in json.loads(zlib.decompress(base64.b64decode(packed))))
