"""One host's windows judged by its live model: scores, and what becomes of its episodes."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from hostsight.clock import SECOND_NS, SystemClock
from hostsight.errors import HostsightError
from hostsight.settings import Settings
from hostsight.timerange import TimeRange
from jobs.alerts import queue_alerts
from models.baseline import Baseline
from models.episode_state import EpisodeChange
from models.episode_store import apply_changes, steady_patience_ns
from models.episodes import EpisodeTracker
from models.fleet import Fleet, FleetWatch
from models.frames import block_from_features
from models.history import History
from models.refit import FeatureReader
from models.signal_watch import SignalWatch
from models.steadiness import is_new_regime, slices
from models.store import ModelStore
from sql.schemas import SCORES

_REGIME_EVERY_NS = 60 * SECOND_NS
"""How often an open episode is looked at for a new regime: it reads windows back."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """scores: SCORES, empty while there is no model.  changes: for `Detection.commit`."""

    scores: pa.Table
    changes: Sequence[EpisodeChange]


@dataclass(frozen=True, slots=True)
class _Judge:
    """The live model, and what it remembers of the windows before."""

    name: str
    baseline: Baseline
    history: History
    watch: SignalWatch


class Detection:
    """Keeps the live model loaded and the episode tracker's state; `commit` makes the latter last.

    read: the host's windows as they were written, which long windows reach back to.  fleet: of all hosts.
    """

    def __init__(  # noqa: PLR0913  # facts by name
        self,
        host: str,
        settings: Settings,
        models: ModelStore,
        connection: sqlite3.Connection,
        *,
        read: FeatureReader,
        fleet: Fleet,
    ) -> None:
        self._host = host
        self._settings = settings
        self._models = models
        self._connection = connection
        self._read = read
        self._fleet = fleet
        self._pace = float(settings.window.stride) / float(settings.detect.accept_after)
        self._name: str | None = None
        self._judge: _Judge | None = None
        self._regime_ns = 0
        self.problem: str | None = None
        row = connection.execute("SELECT state FROM trackers WHERE host = ?", (host,)).fetchone()
        self._tracker = EpisodeTracker.restore(
            host, settings.detect, settings.window.stride.ns, row["state"] if row else None
        )

    @property
    def live(self) -> bool:
        return self._judge is not None

    @property
    def open_since_ns(self) -> int | None:
        """When the episode opened that goes on; None where there is none."""
        return self._tracker.open_since_ns

    def follow_live_model(self, reached_ns: int) -> None:
        """Load the model that is live now. One that cannot be used is named in `problem`, and nothing is scored.

        reached_ns: up to where windows are written.
        """
        name = self._models.live(self._host)
        if name == self._name:
            return
        self._name, self._judge, self.problem = name, None, None
        if name is None:
            return
        try:
            baseline = self._models.load(name)
        except HostsightError as error:
            self.problem = str(error)
        else:
            self._judge = self._recalled(name, baseline, reached_ns)

    def _recalled(self, name: str, baseline: Baseline, reached_ns: int) -> _Judge:
        """With what the next windows reach back to, so that a start or a new model changes no score."""
        history = History(baseline.layout, baseline.settle)
        hosts = FleetWatch(self._fleet, self._host, baseline.channels, self._pace)
        judge = _Judge(name, baseline, history, SignalWatch(baseline, hosts))
        before = self._read(TimeRange(reached_ns - baseline.layout.lead_ns, reached_ns))
        judge.watch.note(judge.history.widen(block_from_features(before)))
        return judge

    def judge(self, features: pa.Table, quiet: Sequence[TimeRange]) -> Judgement:
        """`quiet`: spans in which no episode may open. Without a model nothing is judged, and what was open is over after a while."""
        judge = self._judge
        if not features.num_rows:
            return Judgement(SCORES.empty_table(), ())
        if judge is None:
            newest_ns = pc.max(features.column("window_end").cast(pa.int64())).as_py()
            return Judgement(SCORES.empty_table(), self.pass_time(newest_ns))
        baseline, block = judge.baseline, judge.history.widen(block_from_features(features))
        told = judge.watch.look(block, baseline.score(block))
        changes = self._tracker.update(
            told.scored,
            lambda rows: told.explain(rows, lambda seen: baseline.attribute(block, seen)),
            judge.name,
            quiet,
            told.unmeasured,
        )
        return Judgement(told.scored.table(self._host, judge.name), changes)

    def new_regime(self, end_ns: int) -> Sequence[EpisodeChange]:
        """Ends the open episode where it has become how the host behaves now: steady, for long enough, and harmless.

        end_ns: up to where windows are written.
        """
        judge, current = self._judge, self._tracker.open_episode
        if judge is None or current is None or end_ns - self._regime_ns < _REGIME_EVERY_NS:
            return ()
        patience_ns = steady_patience_ns(self._connection, self._host, current.model, self._settings)
        if end_ns - current.opened_ns < patience_ns or any(item.words for item in current.attribution):
            return ()
        self._regime_ns = end_ns
        spans = slices(current.opened_ns, end_ns, self._settings.window.stride.ns)
        parts = [block_from_features(self._read(part)) for part in spans]
        return self._tracker.adopt(end_ns) if is_new_regime(judge.baseline, parts) else ()

    def pass_time(self, now_ns: int) -> Sequence[EpisodeChange]:
        """What becomes of an open episode when no window comes any more."""
        return self._tracker.pass_time(now_ns) if self._tracker.open_since_ns is not None else ()

    def commit(self, changes: Sequence[EpisodeChange]) -> None:
        """Within the caller's transaction: the episodes' rows, their alerts, and the tracker's state."""
        now_ns = SystemClock().wall_ns()
        for change in changes:
            # one by one: what opened and closed within one chunk is alerted about all the same
            touched = apply_changes(self._connection, [change], now_ns)
            queue_alerts(self._connection, self._settings.alerts, touched, now_ns)
        self._connection.execute(
            "INSERT INTO trackers VALUES (?, ?) ON CONFLICT (host) DO UPDATE SET state = excluded.state",
            (self._host, self._tracker.dump()),
        )
