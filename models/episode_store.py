"""Episodes in the state database."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from hostsight.clock import SECOND_NS, SystemClock, iso
from hostsight.errors import UsageError
from hostsight.settings import Settings
from hostsight.timerange import TimeRange
from models.episode_state import NEW_REGIME, EpisodeChange
from models.muting import review

_SHORT_NS = 120 * SECOND_NS
_HABIT = 4
_YOUNGEST_NS = 300 * SECOND_NS
"""No episode shorter than this is taken for a new regime, unless `[detect] regime_after` says so."""
_YOUNG_NS = 600 * SECOND_NS
"""No episode shorter than this is taken for the new normal, however young the model."""

_Row = TypeVar("_Row", bound=msgspec.Struct)


class Episode(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `episodes`; times are nanoseconds since the epoch.

    rule_id: the suppression that mutes it.  false_alarm_id, cause_id: the episode that it is a false alarm like, and
    that its cause is known from; its own where a person said so.
    """

    id: int
    host: str
    state: str
    opened_ns: int
    last_seen_ns: int
    closed_ns: int | None
    severity: str
    score: float
    confidence: float
    subsystem: str
    device: str
    metric: str
    cause: str | None
    summary: str
    model: str
    visible_ns: int
    regime: str = ""
    acknowledged_ns: int | None = None
    rule_id: int | None = None
    false_alarm_id: int | None = None
    cause_id: int | None = None

    @property
    def muted(self) -> bool:
        """It alerts nobody."""
        return self.rule_id is not None or self.false_alarm_id is not None

    def to_json(self) -> dict[str, object]:
        """The shape of `anomalies --json`."""
        return {
            "id": self.id,
            "host": self.host,
            "state": self.state,
            "opened": iso(self.opened_ns),
            "last_seen": iso(self.last_seen_ns),
            "closed": iso(self.closed_ns),
            "severity": self.severity,
            "score": self.score,
            "confidence": self.confidence,
            "subsystem": self.subsystem,
            "device": self.device,
            "metric": self.metric,
            "cause": self.cause,
            "cause_from": self.cause_id,
            "regime": self.regime or None,
            "acknowledged": iso(self.acknowledged_ns),
            "suppressed_by": self.rule_id,
            "false_alarm_like": self.false_alarm_id,
            "summary": self.summary,
        }


class AttributedChannel(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `attributions`, without its episode; expected and actual are None where they are not known."""

    channel_id: int
    subsystem: str
    device: str
    metric: str
    share: float
    expected: float | None
    actual: float | None
    unit: str
    direction: str


class DetectorTail(msgspec.Struct, frozen=True, kw_only=True):
    """One detector's smallest tail probability in an episode, and the one from which a window is anomalous."""

    name: str
    tail_probability: float
    threshold: float


class EpisodeDetail(msgspec.Struct, frozen=True, kw_only=True):
    episode: Episode
    attribution: tuple[AttributedChannel, ...]
    detectors: tuple[DetectorTail, ...]

    def to_json(self) -> dict[str, object]:
        """The shape of `explain --json`."""
        return self.episode.to_json() | {
            "attribution": [
                msgspec.to_builtins(item) | {"channel_id": str(item.channel_id)} for item in self.attribution
            ],
            "detectors": msgspec.to_builtins(self.detectors),
            "model": self.episode.model,
        }


_UPDATE = """
UPDATE episodes SET state = :state, last_seen_ns = :last_seen_ns, closed_ns = :closed_ns, severity = :severity,
  score = :score, confidence = :confidence, subsystem = :subsystem, device = :device, metric = :metric,
  summary = :summary, model = :model, regime = :regime
WHERE host = :host AND opened_ns = :opened_ns RETURNING id
"""
_INSERT = """
INSERT INTO episodes (host, state, opened_ns, last_seen_ns, closed_ns, severity, score, confidence, subsystem, device,
  metric, summary, model, visible_ns, regime)
VALUES (:host, :state, :opened_ns, :last_seen_ns, :closed_ns, :severity, :score, :confidence, :subsystem, :device,
  :metric, :summary, :model, :visible_ns, :regime)
RETURNING id
"""
_ATTRIBUTION = """
INSERT INTO attributions (episode_id, rank, channel_id, subsystem, device, metric, share, expected, actual, unit, direction)
VALUES (:episode_id, :rank, :channel_id, :subsystem, :device, :metric, :share, :expected, :actual, :unit, :direction)
"""


def apply_changes(
    connection: sqlite3.Connection, changes: Sequence[EpisodeChange], now_ns: int | None = None
) -> list[int]:
    """Bring the rows to what the changes say, and give their numbers; call it within a transaction.

    now_ns: when a new row becomes visible; the system's clock says it where it is not given.
    """
    now_ns = SystemClock().wall_ns() if now_ns is None else now_ns
    touched = []
    for change in changes:
        row = msgspec.structs.asdict(change) | {
            "state": "open" if change.closed_ns is None else "closed",
            "visible_ns": now_ns,
        }
        facts = {key: value for key, value in row.items() if key not in {"attribution", "detectors"}}
        found = connection.execute(_UPDATE, facts).fetchone()
        if found is None:
            found = connection.execute(_INSERT, facts).fetchone()
        _replace_parts(connection, int(found[0]), change)
        review(connection, int(found[0]))
        touched.append(int(found[0]))
    return touched


def _replace_parts(connection: sqlite3.Connection, episode_id: int, change: EpisodeChange) -> None:
    connection.execute("DELETE FROM attributions WHERE episode_id = ?", (episode_id,))
    connection.executemany(
        _ATTRIBUTION,
        [
            msgspec.structs.asdict(item) | {"episode_id": episode_id, "rank": rank}
            for rank, item in enumerate(change.attribution, start=1)
        ],
    )
    connection.executemany(
        "INSERT OR REPLACE INTO episode_detectors VALUES (?, ?, ?, ?)",
        [(episode_id, name, tail, change.threshold) for name, tail in change.detectors.items()],
    )


def list_episodes(
    connection: sqlite3.Connection,
    *,
    since_ns: int = 0,
    until_ns: int | None = None,
    host: str | None = None,
    state: str | None = None,
) -> list[Episode]:
    """Those with an anomalous window in [since_ns, until_ns), newest first; open ones count as still going on."""
    rows = connection.execute(
        """
        SELECT * FROM episodes
        WHERE (state = 'open' OR last_seen_ns >= :since) AND (:until IS NULL OR opened_ns < :until)
          AND (:host IS NULL OR host = :host) AND (:state IS NULL OR state = :state)
        ORDER BY opened_ns DESC, id DESC
        """,
        {"since": since_ns, "until": until_ns, "host": host, "state": state},
    ).fetchall()
    return [_episode(row) for row in rows]


def get_episode(connection: sqlite3.Connection, episode_id: int) -> EpisodeDetail:
    """One in full; raises UsageError where there is none of that id."""
    row = connection.execute("SELECT * FROM episodes WHERE id = ?", (episode_id,)).fetchone()
    if row is None:
        raise UsageError(
            f"there is no episode {episode_id} here; `hostsight anomalies` lists those there are"
        )
    attribution = connection.execute(
        "SELECT * FROM attributions WHERE episode_id = ? ORDER BY rank", (episode_id,)
    )
    detectors = connection.execute(
        "SELECT detector AS name, tail_probability, threshold FROM episode_detectors WHERE episode_id = ? ORDER BY tail_probability, detector",
        (episode_id,),
    )
    return EpisodeDetail(
        episode=_episode(row),
        attribution=tuple(_struct(item, AttributedChannel) for item in attribution),
        detectors=tuple(_struct(item, DetectorTail) for item in detectors),
    )


def open_count(connection: sqlite3.Connection, host: str | None = None) -> int:
    """How many go on, without those that are muted."""
    row = connection.execute(
        "SELECT count(*) FROM episodes WHERE state = 'open' AND (:host IS NULL OR host = :host)"
        " AND rule_id IS NULL AND false_alarm_id IS NULL",
        {"host": host},
    ).fetchone()
    return int(row[0])


def quarantined(
    connection: sqlite3.Connection, host: str, settings: Settings, now_ns: int
) -> list[TimeRange]:
    """What a refit must not learn from: the host's episodes, with the windows that led to them.

    Four kinds are learnt all the same, or they would alarm for ever. One that has lasted `accept_after` is how this host
    behaves now; against a young model it need last only as long as that model's own data, which are as likely to be the
    exception. One was found to be a new regime. Short ones that keep coming back with the same main channel are a habit of
    the host. And a person has called one, or one like it, a false alarm.
    """
    lead_ns = settings.detect.open_of * settings.window.stride.ns + settings.window.length.ns
    known_ns = _known_ns(connection, host)
    episodes = list_episodes(connection, host=host)
    habits = Counter(_main(episode) for episode in episodes if _is_short(episode))
    found = []
    for episode in episodes:
        if episode.false_alarm_id is not None or episode.regime == NEW_REGIME:
            continue
        end_ns = now_ns if episode.state == "open" else episode.last_seen_ns
        accepted = end_ns - episode.opened_ns >= _patience_ns(episode, known_ns, settings)
        if not accepted and not (_is_short(episode) and habits[_main(episode)] >= _HABIT):
            found.append(TimeRange(episode.opened_ns - lead_ns, max(episode.opened_ns, end_ns)))
    return found


def adopted(connection: sqlite3.Connection, host: str) -> list[TimeRange]:
    """When new regimes of the host were found."""
    return [
        TimeRange(episode.opened_ns, episode.last_seen_ns)
        for episode in list_episodes(connection, host=host)
        if episode.regime == NEW_REGIME and episode.last_seen_ns > episode.opened_ns
    ]


def new_regime(connection: sqlite3.Connection, host: str, settings: Settings, now_ns: int) -> Episode | None:
    """The host's open episode, once it has lasted so long that a refit learns it: how this host behaves now."""
    for episode in list_episodes(connection, host=host, state="open"):
        known_ns = _known_ns(connection, host)
        if now_ns - episode.opened_ns >= _patience_ns(episode, known_ns, settings):
            return episode
    return None


def steady_patience_ns(connection: sqlite3.Connection, host: str, model: str, settings: Settings) -> int:
    """From how long on an episode that is steady is a new regime: sooner where the model itself knows little more."""
    known_ns = _known_ns(connection, host).get(model, 0)
    return min(settings.detect.regime_after.ns, max(_YOUNGEST_NS, known_ns))


def _patience_ns(episode: Episode, known_ns: Mapping[str, int], settings: Settings) -> int:
    """From how long on an episode is the new normal."""
    return min(settings.detect.accept_after.ns, max(_YOUNG_NS, known_ns.get(episode.model, 0)))


def _known_ns(connection: sqlite3.Connection, host: str) -> dict[str, int]:
    """How long a time each model of the host was learnt from."""
    rows = connection.execute(
        "SELECT model, trained_to_ns - trained_from_ns AS known_ns FROM models WHERE host = ?", (host,)
    )
    return {row["model"]: row["known_ns"] for row in rows}


def _main(episode: Episode) -> tuple[str, str, str]:
    return episode.subsystem, episode.device, episode.metric


def _is_short(episode: Episode) -> bool:
    return episode.state == "closed" and episode.last_seen_ns - episode.opened_ns < _SHORT_NS


def load_tracker(connection: sqlite3.Connection, host: str) -> str | None:
    """What the host's `EpisodeTracker.dump` gave last."""
    row = connection.execute("SELECT state FROM trackers WHERE host = ?", (host,)).fetchone()
    return None if row is None else str(row["state"])


def save_tracker(connection: sqlite3.Connection, host: str, text: str) -> None:
    connection.execute("INSERT OR REPLACE INTO trackers VALUES (?, ?)", (host, text))


def _episode(row: sqlite3.Row) -> Episode:
    return _struct(row, Episode)


def _struct(row: sqlite3.Row, kind: type[_Row]) -> _Row:
    return msgspec.convert({name: row[name] for name in kind.__struct_fields__}, kind)
