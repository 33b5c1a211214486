"""A time range of the lake, done again from the store: for samples that arrived after their windows had closed.

Samples and features of the range become what the store holds now, beside what it no longer holds; scores and episodes stay
as they were judged.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hostsight.clock import SECOND_NS, Clock, SystemClock, floor_second, iso
from hostsight.files import locked
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from hostsight.timerange import TimeRange
from ingest.lake import Lake, split_by_hour
from ingest.store import SAMPLES, Store
from jobs.catalogue import channel_table, channels_seen
from jobs.runs import recorded
from jobs.schedule import MATERIALISE
from jobs.serve import open_store, recover
from jobs.watermarks import positions
from migrations import open_state
from migrations.transaction import transaction
from sql.features import FeatureBuilder

REEXPORT = "reexport"
"""The name of its runs in `job_runs`."""


class Reexported(msgspec.Struct, frozen=True, kw_only=True):
    """One hour, or the part of one that was asked for: how many samples were added to the lake or changed in it."""

    host: str
    start: str
    end: str
    changed: int


def run_reexport(
    settings: Settings, data: DataFolder, span: TimeRange, host: str | None = None
) -> Iterator[Reexported]:
    """Do `span` again for `host`, or for every host that has windows, an hour at a time; an hour is in memory at once.

    Raises LockedError where `serve` runs on the folder, and whatever the store raises; what is done by then stays.
    """
    clock = SystemClock()
    data.create()
    with locked(data.serve_lock, "a pipeline (`hostsight serve`)"):
        recover(data)
        with closing(open_state(data.state_db)) as connection, recorded(connection, REEXPORT, clock) as run:
            again = Reexporter(settings, data, open_store(settings, data), connection, clock)
            for name, done_ns in positions(connection, MATERIALISE).items():
                if host is None or name == host:
                    for hour in again.run(name, _until(span, done_ns)):
                        run.items += hour.changed
                        yield hour


def _until(span: TimeRange, done_ns: int) -> TimeRange:
    """Whole seconds, and nothing that `serve` will do by itself."""
    start_ns = floor_second(span.start_ns)
    end_ns = min(-(-span.end_ns // SECOND_NS) * SECOND_NS, done_ns)
    return TimeRange(start_ns, max(start_ns, end_ns))


class Reexporter:
    """Needs the pipeline's lock: nothing else may write the lake meanwhile."""

    def __init__(
        self, settings: Settings, data: DataFolder, store: Store, connection: sqlite3.Connection, clock: Clock
    ) -> None:
        self._window = settings.window
        self._lake = Lake(data)
        self._store = store
        self._connection = connection
        self._clock = clock

    def run(self, host: str, span: TimeRange) -> Iterator[Reexported]:
        for part in split_by_hour(span):
            changed = self._redo(host, part)
            yield Reexported(
                host=host, start=iso(part.start_ns) or "", end=iso(part.end_ns) or "", changed=changed
            )

    def _redo(self, host: str, part: TimeRange) -> int:
        arrived = self._store.export(host, part)
        whole = self._whole(host, part)
        held = self._lake.read("samples", host, whole)
        merged = merge(arrived, held)
        changed = changes(merged, held)
        if changed:
            self._lake.write("samples", host, whole, merged)
            self._note_channels(host, part, arrived)
            self._write_features(host, whole, merged)
        return changed

    def _whole(self, host: str, part: TimeRange) -> TimeRange:
        """`part`, and every file that reaches out of it: a new file hides those that lie inside it."""
        kinds = (self._lake.files(kind, host=host, span=part) for kind in ("samples", "features"))
        spans = [part, *(file.span for files in kinds for file in files)]
        return TimeRange(min(one.start_ns for one in spans), max(one.end_ns for one in spans))

    def _write_features(self, host: str, whole: TimeRange, samples: pa.Table) -> None:
        lead_ns = -(-self._window.length.ns // SECOND_NS) * SECOND_NS
        before = self._lake.read("samples", host, TimeRange(max(0, whole.start_ns - lead_ns), whole.start_ns))
        builder = FeatureBuilder(self._window, tuple(self._store.channels(host)))
        try:
            features = builder.build(pa.concat_tables([before, samples]), whole).features
        finally:
            builder.close()
        self._lake.write("features", host, whole, features)

    def _note_channels(self, host: str, part: TimeRange, arrived: pa.Table) -> None:
        """That those of `arrived` were there in `part`; the store knows others, of other times."""
        there = set(pc.unique(arrived["channel_id"]).to_pylist())
        channels = [channel for channel in self._store.channels(host) if channel.id in there]
        with transaction(self._connection):
            channels_seen(self._connection, channels, part.start_ns, part.end_ns)
        self._lake.write_channels(channel_table(self._connection, host))


def merge(arrived: pa.Table, held: pa.Table) -> pa.Table:
    """SAMPLES of both, sorted, each stamp of a channel once: as it `arrived`, where both have it."""
    both = pa.concat_tables([arrived, held]).combine_chunks()
    ids, ts = both["channel_id"].to_numpy(), both["ts"].cast(pa.int64()).to_numpy()
    order = np.lexsort((np.arange(len(ids)), ts, ids))
    ids, ts = ids[order], ts[order]
    first = np.append(True, (np.diff(ids) != 0) | (np.diff(ts) != 0))[: len(ids)]
    return both.take(pa.array(order[first])).cast(SAMPLES)


def changes(merged: pa.Table, held: pa.Table) -> int:
    """How many rows of `merged` are not in `held` as they are; `merged` has every stamp of every channel that `held` has."""
    rows = merged.join(held, ["channel_id", "ts"], right_suffix="_held", join_type="left outer")
    same = pc.equal(rows["value"], rows["value_held"])
    return int(merged.num_rows - (pc.sum(pc.fill_null(same, False)).as_py() or 0))
