"""Frames: Arrow IPC messages that carry their own checksum, so that damage is found before Arrow parses it.

An encapsulated IPC message is: marker (ffffffff), size of the metadata (int32), metadata, padding, body. The format
leaves the padding's content open; a frame keeps a trailer in it. So a file of frames is an ordinary Arrow IPC stream
to any reader, and every frame tells where it ends, which time it covers and whether its bytes are those written.
https://arrow.apache.org/docs/format/Columnar.html#encapsulated-message-format
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from hostsight.clock import SECOND_NS, floor_second

_MARKER = b"\xff\xff\xff\xff"
_MAGIC = b"HSf1"
_PREFIX = struct.Struct("<4si")
_TRAILER = struct.Struct("<4sIqqqII")  # magic, flags, body length, first ns, last ns, checksum, reserved
_CHECKSUM_AT = 32
_ALIGNMENT = 8
_PARTIAL = 1


@dataclass(frozen=True, slots=True)
class Frame:
    """Where one whole, undamaged frame lies; `last_ns` is the stamp of its newest tick.

    `partial`: written before the second of its last tick was over, since the writer stopped or changed its layout.
    """

    offset: int
    length: int
    first_ns: int
    last_ns: int
    partial: bool

    @property
    def complete_until_ns(self) -> int:
        """The end of the newest second that holds nothing more: a batch is written after its second is over."""
        second_ns = floor_second(self.last_ns)
        return second_ns if self.partial else second_ns + SECOND_NS


def seal(message: memoryview, first_ns: int, last_ns: int, *, partial: bool = False) -> bytes:
    """The frame of one encapsulated Arrow IPC message, a multiple of 8 bytes long."""
    _, metadata_length = _PREFIX.unpack_from(message)
    body_at = _PREFIX.size + metadata_length
    frame = bytearray(_PREFIX.pack(_MARKER, metadata_length + _TRAILER.size))
    frame += message[_PREFIX.size : body_at]
    trailer_at = len(frame)
    body_length = len(message) - body_at
    frame += _TRAILER.pack(_MAGIC, _PARTIAL if partial else 0, body_length, first_ns, last_ns, 0, 0)
    frame += message[body_at:]
    struct.pack_into("<I", frame, trailer_at + _CHECKSUM_AT, zlib.crc32(frame))
    return bytes(frame)


def frame_at(content: bytes, offset: int) -> Frame | None:
    """The frame that starts at `offset`; None where it is torn, damaged or no frame at all."""
    if len(content) < offset + _PREFIX.size:
        return None
    marker, metadata_length = _PREFIX.unpack_from(content, offset)
    body_at = offset + _PREFIX.size + metadata_length
    trailer_at = body_at - _TRAILER.size
    if marker != _MARKER or trailer_at < offset + _PREFIX.size or body_at > len(content):
        return None
    magic, flags, body_length, first_ns, last_ns, checksum, _ = _TRAILER.unpack_from(content, trailer_at)
    end = body_at + body_length
    if magic != _MAGIC or body_length < 0 or end > len(content):
        return None
    if _checksum(content, offset, trailer_at + _CHECKSUM_AT, end) != checksum:
        return None
    return Frame(offset, end - offset, first_ns, last_ns, bool(flags & _PARTIAL))


def frames(content: bytes) -> Iterator[Frame]:
    """All whole frames in order. Bytes between two of them are damage; bytes after the last may just not be there yet."""
    offset = 0
    while (frame := _next_frame(content, offset)) is not None:
        yield frame
        offset = frame.offset + frame.length


def _next_frame(content: bytes, offset: int) -> Frame | None:
    while 0 <= offset <= len(content) - _PREFIX.size:
        frame = frame_at(content, offset) if offset % _ALIGNMENT == 0 else None
        if frame is not None:
            return frame
        offset = content.find(_MARKER, offset + 1)
    return None


def _checksum(content: bytes, start: int, checksum_at: int, end: int) -> int:
    """CRC-32 of the frame as it was before its checksum was put in."""
    view = memoryview(content)
    crc = zlib.crc32(view[start:checksum_at])
    crc = zlib.crc32(b"\0\0\0\0", crc)
    return zlib.crc32(view[checksum_at + 4 : end], crc)
