"""One host's telemetry as increments: samples from the store, panes, features of whole stretches of windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hostsight.channel import Channel
from hostsight.clock import SECOND_NS
from hostsight.settings import WindowSettings
from hostsight.timerange import TimeRange
from ingest.store import Store
from sql.features import FeatureBuilder
from sql.schemas import FEATURES, PANES

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Increment:
    """What `span` adds. `whole`: ends (ns, ascending) of the windows with no pane missing, `ends`: of all windows."""

    span: TimeRange
    samples: pa.Table
    features: pa.Table
    ends: NDArray[np.int64]
    whole: NDArray[np.int64]


class WindowStream:
    """Keeps the panes that the next windows reach back to, so that each sample is read once.

    Use it from one thread, with spans that follow each other; one that does not follow is preceded by a re-read of
    one window length.
    """

    def __init__(self, host: str, store: Store, window: WindowSettings) -> None:
        self._host = host
        self._store = store
        self._window = window
        self._lead_ns = -(-window.length.ns // SECOND_NS) * SECOND_NS
        self._reached_ns: int | None = None
        self._tail: pa.Table = PANES.empty_table()
        self._builder: FeatureBuilder | None = None
        self._known: tuple[Channel, ...] = ()
        self._channels: tuple[Channel, ...] = ()

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Those the store knows and those derived from them; another tuple only when they have changed."""
        return self._channels

    def advance(self, span: TimeRange) -> Increment:
        """`span` is aligned to whole seconds and to the stride."""
        follows = self._reached_ns == span.start_ns
        start_ns = span.start_ns if follows else max(0, span.start_ns - self._lead_ns)
        samples = self._store.export(self._host, TimeRange(start_ns, span.end_ns))
        earlier = self._tail if follows else PANES.empty_table()
        self._reached_ns = span.end_ns
        if not samples.num_rows and not earlier.num_rows:
            return Increment(span, samples, FEATURES.empty_table(), _NONE, _NONE)
        builder = self._follow_channels()
        measured = builder.panes(samples)
        panes = pa.concat_tables([earlier, measured, builder.derive(measured)])
        features = builder.features(panes, span)
        self._tail = _since(panes, "pane", span.end_ns - self._lead_ns).combine_chunks()
        ends = _stamps(features, "window_end")
        own = samples if follows else _since(samples, "ts", span.start_ns)
        return Increment(span, own, features, ends, self._whole(panes, ends))

    def _follow_channels(self) -> FeatureBuilder:
        known = tuple(self._store.channels(self._host))
        if self._builder is None or known != self._known:
            self.close()
            self._builder = FeatureBuilder(self._window, known)
            self._known, self._channels = known, (*known, *self._builder.derived_channels)
        return self._builder

    def _whole(self, panes: pa.Table, ends: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of `ends` whose every pane has a sample of some channel."""
        pane_ns, length_ns = self._window.pane.ns, self._window.length.ns
        starts = _stamps(panes, "pane")
        present = np.searchsorted(starts, ends) - np.searchsorted(starts, ends - length_ns)
        whole: NDArray[np.int64] = ends[present == length_ns // pane_ns]
        return whole

    def close(self) -> None:
        if self._builder is not None:
            self._builder.close()
            self._builder = None


def _since(table: pa.Table, column: str, start_ns: int) -> pa.Table:
    start = pa.scalar(start_ns, pa.timestamp("ns"))
    return table.filter(pc.greater_equal(table.column(column), start))


def _stamps(table: pa.Table, column: str) -> NDArray[np.int64]:
    """The distinct times of a column, ascending."""
    distinct = pc.unique(table.column(column)).cast(pa.int64()).to_numpy(zero_copy_only=False)
    return cast(NDArray[np.int64], np.sort(distinct))
