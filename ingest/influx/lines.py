"""Line protocol from the spool's batches, formatted a column at a time.

A tick of one device is one point: `network,device=eth0,host=gpu01 rx_bytes_per_s=1.5,tx_bytes_per_s=2 1700000000000000000`.
A float32 is written with the fewest digits that give it back to the bit. What is absent or not finite is left out, and
so is a point without fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hostsight.channel import Channel
from ingest.influx.names import TICKS, line_text
from ingest.segment import Ticks


class Lines(NamedTuple):
    """`text` is line protocol, ready to be sent. `values` of it are samples; `dropped` were infinite and are not in it."""

    text: bytes
    values: int
    dropped: int


class LineFormat:
    """Writes the ticks of one layout of one host."""

    def __init__(self, host: str, channels: Sequence[Channel]) -> None:
        order = sorted(range(len(channels)), key=lambda index: _group(channels[index]))
        groups = sorted({_group(channel) for channel in channels})
        number = {group: index for index, group in enumerate(groups)}
        self._order = np.array(order, np.intp)
        self._group_of = np.array([number[_group(channels[index])] for index in order], np.int32)
        self._keys = pa.array([f"{line_text(channels[index].metric)}=" for index in order], pa.string())
        self._heads = pa.array([_head(host, *group) for group in groups], pa.string())
        self._tick_head = f"{TICKS},host={line_text(host)} dt="

    def format(self, ticks: Ticks) -> Lines:
        values = ticks.values[:, self._order]
        present = np.isfinite(values)
        stamps = pc.cast(pa.array(ticks.ts, pa.int64()), pa.string())
        samples = self._samples(values, present, stamps) if present.any() else b""
        return Lines(
            samples + self._lengths(ticks.dt, stamps), int(present.sum()), int(np.isinf(values).sum())
        )

    def _samples(self, values: NDArray[np.float32], present: NDArray[np.bool_], stamps: pa.Array) -> bytes:
        """The lines of all devices, tick after tick."""
        tick, column = np.nonzero(present)
        group = self._group_of[column]
        pairs = _join(self._keys.take(pa.array(column)), pc.cast(pa.array(values[present]), pa.string()))
        starts = np.flatnonzero(np.diff(tick, prepend=-1) | np.diff(group, prepend=-1)).astype(np.int32)
        offsets = pa.array(np.append(starts, np.int32(len(tick))), pa.int32())
        fields = pc.binary_join(pa.ListArray.from_arrays(offsets, pairs), ",")
        ends = _join(" ", stamps, "\n").take(pa.array(tick[starts]))
        return _content(_join(self._heads.take(pa.array(group[starts])), fields, ends))

    def _lengths(self, dt: NDArray[np.float32], stamps: pa.Array) -> bytes:
        """A line a tick with the tick's own length."""
        return _content(_join(self._tick_head, pc.cast(pa.array(dt), pa.string()), " ", stamps, "\n"))


def _group(channel: Channel) -> tuple[str, str]:
    return channel.subsystem, channel.device


def _head(host: str, subsystem: str, device: str) -> str:
    return f"{line_text(subsystem)},device={line_text(device)},host={line_text(host)} "


def _join(*parts: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")


def _content(texts: pa.Array) -> bytes:
    """All texts one after the other: what the array's buffer holds already."""
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return bytes(memoryview(texts.buffers()[2])[offsets[0] : offsets[-1]]) if len(texts) else b""
