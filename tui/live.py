"""The real source: status from `jobs`, episodes from the state database, values from the lake.

Imports inside the methods: the first of them runs after the first frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, cast

from hostsight.channel import channel_id
from hostsight.clock import SECOND_NS, Clock, SystemClock
from hostsight.errors import StorageError
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from hostsight.timerange import TimeRange
from tui.source import (
    Attribution,
    DetectorVote,
    Direction,
    Episode,
    EpisodeDetail,
    Headline,
    HostStatus,
    Pulse,
    Query,
    Result,
    Series,
    Severity,
    View,
)

if TYPE_CHECKING:
    import sqlite3

    import models.episode_store as store
    from sql.adhoc import RunningQuery
    from sql.reader import Headline as Line
    from sql.reader import Reader

UNSHOWN = {"agent"}
"""Subsystems that the overview leaves to `hostsight status`."""


class LiveSource:
    """Reads one data folder; writes nothing but acknowledgements."""

    def __init__(self, data: DataFolder, settings: Settings, clock: Clock | None = None) -> None:
        self._data = data
        self._settings = settings
        self._clock = clock or SystemClock()

    def pulse(self) -> Pulse:
        from jobs.status import read_status

        status = read_status(self._data, self._settings, self._clock.wall_ns())
        hosts = tuple(
            HostStatus(
                host=host.host,
                phase=host.phase,
                progress=host.progress,
                activity=host.activity,
                newest_ns=host.newest_ns,
            )
            for host in status.hosts
        )
        return Pulse(hosts, status.problems)

    def headlines(self, span: TimeRange, points: int) -> Mapping[str, Sequence[Headline]]:
        found = self._reader.headlines(aligned(span, points), points + 1)
        return {
            host: [_headline(line) for line in lines if line.subsystem not in UNSHOWN]
            for host, lines in found.items()
        }

    def episodes(self, span: TimeRange) -> Sequence[Episode]:
        from models.episode_store import list_episodes

        if not self._data.state_db.exists():
            return ()
        with self._state() as connection:
            found = list_episodes(connection, since_ns=span.start_ns, until_ns=span.end_ns)
        return [_episode(row) for row in found]

    def episode(self, episode_id: int) -> EpisodeDetail:
        from models.episode_store import get_episode

        with self._state() as connection:
            detail = get_episode(connection, episode_id)
        return EpisodeDetail(
            episode=_episode(detail.episode),
            attribution=tuple(_attribution(item) for item in detail.attribution),
            detectors=tuple(
                DetectorVote(vote.name, vote.tail_probability, vote.threshold) for vote in detail.detectors
            ),
            model=detail.episode.model,
        )

    def acknowledge(self, episode_id: int) -> None:
        from jobs.operations import give_feedback
        from models.episode_store import get_episode

        with self._state(writing=True) as connection:
            known = get_episode(connection, episode_id).episode.acknowledged_ns is not None
            word = "unack" if known else "ack"
            give_feedback(connection, self._settings.alerts, episode_id, [word], self._clock.wall_ns())

    def series(self, host: str, channel: Attribution, span: TimeRange, points: int) -> Series:
        identity = channel_id(host, channel.subsystem, channel.device, channel.metric)
        found = self._reader.series(host, identity, aligned(span, points), points + 1)
        return Series(found.start_ns, found.step_ns, found.mean.tolist())

    def views(self) -> Sequence[View]:
        from sql.views import views

        return [
            View(view.name, tuple((column.name, column.type) for column in view.columns)) for view in views()
        ]

    def query(self, text: str, rows: int) -> Query:
        from sql.adhoc import start_query

        return _Query(start_query(self._data, self._settings.sql, text, rows=rows))

    @cached_property
    def _reader(self) -> Reader:
        from sql.reader import Reader

        return Reader(self._data)

    @contextmanager
    def _state(self, *, writing: bool = False) -> Iterator[sqlite3.Connection]:
        import sqlite3

        from migrations import open_state

        connection = open_state(self._data.state_db, read_only=not writing)
        try:
            yield connection
        except sqlite3.Error as error:
            raise StorageError(
                f"{self._data.state_db} cannot be read: {error}; it is read again in a moment"
            ) from error
        finally:
            connection.close()


class _Query:
    def __init__(self, running: RunningQuery) -> None:
        self._running = running

    def wait(self) -> Result:
        from tui.cells import result_of

        outcome = self._running.wait()
        if outcome is None:
            raise StorageError("the query ended without a result; run it again")
        return result_of(outcome.table, truncated=outcome.truncated, seconds=outcome.seconds)

    def cancel(self) -> None:
        self._running.cancel()


def aligned(span: TimeRange, points: int) -> TimeRange:
    """`span` widened to multiples of the step in which it is read: the same step holds the same seconds each time."""
    length = max(1, span.end_ns - span.start_ns)
    step = -(-length // (max(1, points) * SECOND_NS)) * SECOND_NS
    return TimeRange(span.start_ns // step * step, -(-span.end_ns // step) * step)


def _headline(line: Line) -> Headline:
    series = Series(line.start_ns, line.step_ns, line.values.tolist())
    return Headline(line.subsystem, line.label, line.unit, series)


def _episode(row: store.Episode) -> Episode:
    return Episode(
        id=row.id,
        host=row.host,
        opened_ns=row.opened_ns,
        last_seen_ns=row.last_seen_ns,
        closed_ns=row.closed_ns,
        severity=cast(Severity, row.severity),  # the database checks it
        score=row.score,
        confidence=row.confidence,
        subsystem=row.subsystem,
        device=row.device,
        metric=row.metric,
        summary=row.summary,
        acknowledged=row.acknowledged_ns is not None,
        muted=row.muted,
        cause=row.cause or "",
    )


def _attribution(item: store.AttributedChannel) -> Attribution:
    return Attribution(
        subsystem=item.subsystem,
        device=item.device,
        metric=item.metric,
        share=item.share,
        expected=item.expected,
        actual=item.actual,
        unit=item.unit,
        direction=cast(Direction, item.direction),  # the database checks it
    )
