"""The pipeline's core: from stored samples to episodes, for every host, up to the newest complete second.

A chunk is written as files first (samples, features, scores), then committed in one transaction with its watermark; so
a run that is killed leaves files beyond the watermark, which go before the chunk is done again.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hostsight.channel import Channel
from hostsight.clock import SECOND_NS
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from hostsight.timerange import TimeRange, format_duration
from ingest.lake import Kind, Lake
from ingest.store import Store
from jobs.catalogue import channel_table, channels_seen
from jobs.detection import Detection, Judgement
from jobs.learning import Learning, newest_history
from jobs.progress import HostProgress
from jobs.requests import Why, ask
from jobs.runs import refit_spans
from jobs.schedule import MATERIALISE
from jobs.watermarks import advance, position
from jobs.windows import Increment, WindowStream
from migrations.transaction import transaction
from models.episode_store import new_regime
from models.fleet import Fleet
from models.store import ModelStore
from sql.schemas import FEATURES

CHUNK_PANES = 60
"""At most so much telemetry is in memory at once, and a minute of it at least."""

SEEN_EVERY_NS = 60 * SECOND_NS
"""How often the channels' `last_seen` moves on."""

RELEASE_EVERY_NS = 60 * SECOND_NS
"""How often the store may free what is done."""

RESUME_NS = 90 * SECOND_NS
"""How long a silent host may have to send on after an outage of a server: its drain waits up to a minute between two tries."""

BEHIND_NS = 10 * SECOND_NS
_ENDS = pa.schema([FEATURES.field("channel_id"), FEATURES.field("window_end")])
_BOTH: tuple[Kind, ...] = ("samples", "features")


class Materialiser:
    """Use it from the one thread that `connection` belongs to. What it remembers can be read again from disk, but for what hosts
    that are compared with each other usually differ by, which takes a minute to learn.
    """

    def __init__(
        self, settings: Settings, data: DataFolder, store: Store, connection: sqlite3.Connection
    ) -> None:
        self._settings = settings
        self._store = store
        self._tools = _Tools(
            settings,
            store,
            Lake(data),
            ModelStore(data, connection, settings.window),
            connection,
            Fleet(settings.detect.peer_hosts),
        )
        self._hosts: dict[str, HostPipeline] = {}

    def run(self, now_ns: int) -> int:
        """Do complete windows since the watermarks, a chunk a host at most; returns how many there were.

        What fails for one host is raised once the others had their turn, whatever it is. Nothing is lost by it, and the next
        run carries on.
        """
        windows = 0
        failure: Exception | None = None
        for host in self._known_hosts():
            try:
                windows += self._run_host(host, now_ns)
            except Exception as error:  # noqa: BLE001  # raised below
                failure = failure or error
        if failure is not None:
            raise failure
        return windows

    def _known_hosts(self) -> Sequence[str]:
        try:
            return self._store.hosts()
        except Exception:
            for pipeline in self._hosts.values():
                pipeline.lose_sight()
            raise

    def _run_host(self, host: str, now_ns: int) -> int:
        pipeline = self._hosts.get(host) or HostPipeline(host, self._tools)
        self._hosts[host] = pipeline
        try:
            return pipeline.run(now_ns)
        except BaseException:
            self._hosts.pop(host).close()  # its memory may be ahead of what was committed
            raise

    @property
    def hosts(self) -> int:
        """How many there are, as far as it has come."""
        return len(self._hosts)

    def progress(self) -> tuple[HostProgress, ...]:
        return tuple(pipeline.progress() for pipeline in self._hosts.values())

    def problems(self) -> tuple[str, ...]:
        models = (pipeline.problem for pipeline in self._hosts.values())
        return (
            *self._store.problems,
            *self._tools.lake.problems,
            *(problem for problem in models if problem),
        )

    def close(self) -> None:
        while self._hosts:
            self._hosts.popitem()[1].close()


@dataclass(frozen=True, slots=True)
class _Tools:
    """What all hosts share."""

    settings: Settings
    store: Store
    lake: Lake
    models: ModelStore
    connection: sqlite3.Connection
    fleet: Fleet


class HostPipeline:
    """One host's way through the pipeline."""

    def __init__(self, host: str, tools: _Tools) -> None:
        self._host = host
        self._tools = tools
        self._grid_ns = math.lcm(tools.settings.window.stride.ns, SECOND_NS)
        chunk_ns = max(60 * SECOND_NS, CHUNK_PANES * tools.settings.window.pane.ns)
        self._chunk_ns = max(1, chunk_ns // self._grid_ns) * self._grid_ns
        self._stream = WindowStream(host, tools.store, tools.settings.window)
        self._detection = Detection(
            host,
            tools.settings,
            tools.models,
            tools.connection,
            read=self._written_windows,
            fleet=tools.fleet,
        )
        self._learning = Learning(tools.settings)
        self._catalogue = _Catalogue(host, tools)
        self._position_ns: int | None = None
        self._available_ns: int | None = None
        self._done = 0
        self._regime_ns: int | None = None
        self._silent_since_ns: int | None = None
        self._patience_ns = 0 if tools.store.name == "embedded" else RESUME_NS

    @property
    def problem(self) -> str | None:
        return self._detection.problem

    def run(self, now_ns: int) -> int:
        """Do at most one chunk that has windows in it; returns how many."""
        span = self._tools.store.span(self._host)
        if span is None:
            return 0
        self._available_ns = span.end_ns
        start_ns = max(self._start(span), _floor(span.start_ns, self._grid_ns))
        end_ns = _floor(self._closed(span, now_ns), self._grid_ns)
        while start_ns < end_ns:
            chunk = TimeRange(start_ns, min(end_ns, _floor(start_ns, self._chunk_ns) + self._chunk_ns))
            windows = self._run_chunk(chunk, now_ns)
            if windows:
                self.lose_sight()
                return windows
            start_ns = chunk.end_ns
        self._pass_time(now_ns)
        return 0

    def _closed(self, span: TimeRange, now_ns: int) -> int:
        """Up to when windows may close. A store that waits for nobody is ahead of a wall clock that was set back."""
        lateness_ns = self._tools.settings.jobs.lateness.ns
        return min(span.end_ns, now_ns - lateness_ns) if lateness_ns else span.end_ns

    def _start(self, span: TimeRange) -> int:
        if self._position_ns is None:
            self._position_ns = self._recover(span)
        return self._position_ns

    def _recover(self, span: TimeRange) -> int:
        """Where to carry on; what a killed run left beyond that goes.

        Without a watermark (the first start, or a state database that was lost) the lake says what is done.
        """
        lake, host = self._tools.lake, self._host
        start_ns = position(self._tools.connection, MATERIALISE, host)
        if start_ns is None:
            start_ns = max(_floor(span.start_ns, self._grid_ns), lake_end(lake, host))
        lake.discard_from(host, start_ns)
        self._learning.windows = self._learnt_windows(start_ns)
        return start_ns

    def _learnt_windows(self, end_ns: int) -> int:
        """How many windows the lake holds already of those that the warm-up needs."""
        reach_ns = 2 * self._tools.settings.detect.warmup.ns
        span = TimeRange(max(0, end_ns - reach_ns), end_ns)
        features = self._tools.lake.read("features", self._host, span, _ENDS)
        return len(pc.unique(features.column("window_end")))

    def _written_windows(self, span: TimeRange) -> pa.Table:
        return self._tools.lake.read("features", self._host, span, FEATURES)

    def _run_chunk(self, span: TimeRange, now_ns: int) -> int:
        self._detection.follow_live_model(span.start_ns)
        increment = self._stream.advance(span)
        judgement = self._detection.judge(increment.features, self._quiet(increment))
        self._write(increment, judgement)
        self._learning.windows += len(increment.ends)
        self._commit(increment, judgement, now_ns)
        self._position_ns = span.end_ns
        self._done += len(increment.ends)
        if span.start_ns // RELEASE_EVERY_NS != span.end_ns // RELEASE_EVERY_NS:
            self._tools.store.release(self._host, span.end_ns)
        return len(increment.ends)

    def _quiet(self, increment: Increment) -> list[TimeRange]:
        """Spans in which no episode may open: hostsight's own refits, and windows that lack a part of their seconds."""
        length_ns = self._tools.settings.window.length.ns
        spans = [
            TimeRange(span.start_ns, span.end_ns + length_ns)
            for span in refit_spans(self._tools.connection, increment.span.start_ns - length_ns)
        ]
        partial = np.setdiff1d(increment.ends, increment.whole).tolist()
        return [*spans, *(TimeRange(end_ns - 1, end_ns) for end_ns in partial)]

    def _write(self, increment: Increment, judgement: Judgement) -> None:
        lake, span = self._tools.lake, increment.span
        lake.write("samples", self._host, span, increment.samples)
        lake.write("features", self._host, span, increment.features)
        lake.write("scores", self._host, span, judgement.scores)

    def _commit(self, increment: Increment, judgement: Judgement, now_ns: int) -> None:
        connection, end_ns = self._tools.connection, increment.span.end_ns
        with transaction(connection):
            self._catalogue.note(self._stream.channels, increment)
            if len(judgement.scores) or judgement.changes:
                self._detection.commit(judgement.changes)
            learnt = self._detection.new_regime(end_ns)
            if learnt:
                self._detection.commit(learnt)
                ask(connection, "new-regime", self._host, now_ns)
            why = self._learning.due(
                newest_history(connection, self._host), end_ns, live=self._detection.live
            )
            why = why or self._new_regime(end_ns)
            if why is not None:
                ask(connection, why, self._host, now_ns)
            advance(connection, MATERIALISE, self._host, end_ns, now_ns)

    def _new_regime(self, end_ns: int) -> Why | None:
        """Asks for a refit once an episode, when it has lasted so long that one would learn it."""
        opened_ns = self._detection.open_since_ns
        if opened_ns is None or opened_ns == self._regime_ns:
            return None
        if new_regime(self._tools.connection, self._host, self._tools.settings, end_ns) is None:
            return None
        self._regime_ns = opened_ns
        return "new-regime"

    def lose_sight(self) -> None:
        """From here on it is not known that the host is silent."""
        self._silent_since_ns = None

    def _pass_time(self, now_ns: int) -> None:
        """Close what is open once the host is silent, and had time to send on what it kept while its server was away."""
        if self._silent_since_ns is None:
            self._silent_since_ns = now_ns
        if now_ns - self._silent_since_ns < self._patience_ns:
            return
        changes = self._detection.pass_time(now_ns)
        if changes:
            with transaction(self._tools.connection):
                self._detection.commit(changes)

    def progress(self) -> HostProgress:
        return HostProgress(
            host=self._host,
            position_ns=self._position_ns,
            available_ns=self._available_ns,
            windows=self._done,
            progress=1.0 if self._detection.live else self._learning.progress,
            live=self._detection.live,
            activity=self._activity(),
        )

    def _activity(self) -> str:
        behind_ns = (self._available_ns or 0) - (self._position_ns or 0)
        if self._position_ns and behind_ns > BEHIND_NS:
            return f"catching up: {format_duration(behind_ns // SECOND_NS)} behind"
        if not self._detection.live:
            return self._learning.activity
        window = self._tools.settings.window
        return f"watching: windows of {window.length} every {window.stride}"

    def close(self) -> None:
        self._stream.close()


class _Catalogue:
    """Notes a channel with its first window, and once a minute those that had any since."""

    def __init__(self, host: str, tools: _Tools) -> None:
        self._host = host
        self._tools = tools
        self._noted: frozenset[int] = frozenset()
        self._noted_ns = 0
        self._seen: set[int] = set()

    def note(self, channels: Sequence[Channel], increment: Increment) -> None:
        """Within the caller's transaction. `channels` has what is gone, too: the windows say what is there."""
        span = increment.span
        self._seen.update(pc.unique(increment.features.column("channel_id")).to_pylist())
        due = span.end_ns - self._noted_ns >= SEEN_EVERY_NS
        if self._seen <= self._noted and not due:
            return
        there = [channel for channel in channels if channel.id in self._seen]
        if not there:
            return
        channels_seen(self._tools.connection, there, span.start_ns, span.end_ns)
        self._tools.lake.write_channels(channel_table(self._tools.connection, self._host))
        self._noted |= self._seen
        if due:
            self._noted, self._noted_ns = frozenset(self._seen), span.end_ns
            self._seen.clear()


def lake_end(lake: Lake, host: str) -> int:
    """Up to where the lake has both samples and features of `host`; 0 where it has none."""
    ends = [[file.span.end_ns for file in lake.files(kind, host=host)] for kind in _BOTH]
    return min(max(kind, default=0) for kind in ends)


def _floor(ns: int, grid_ns: int) -> int:
    return ns - ns % grid_ns
