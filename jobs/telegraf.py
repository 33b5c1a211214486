"""What telegraf keeps in InfluxDB as a store: hostsight reads it, and writes nothing there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hostsight.cadence import paced
from hostsight.channel import Channel
from hostsight.clock import SECOND_NS, Clock, floor_second
from hostsight.errors import StorageError, StoreUnavailableError
from hostsight.settings import Settings, StoreSettings
from hostsight.timerange import TimeRange, format_duration
from ingest.influx.client import InfluxClient
from ingest.influx.reach import reach
from ingest.influx.telegraf import absence, first_stamps, kept_by_telegraf, newest_stamps, read
from ingest.store import SAMPLES
from sql.rates import gap_ns, samples

PIECE_NS = 1800 * SECOND_NS
"""At most so much is asked for at once."""

SILENT_PERIODS = 3
"""After so long without a new point, what is there is all that comes."""

ACTIVE_NS = 3 * 3600 * SECOND_NS
SURVEY_NS = 600 * SECOND_NS
"""How often hosts are looked for that have been silent for hours."""


def recognised(settings: Settings) -> Settings:
    """The settings with `telegraf` as the store, where they say `influx` and only telegraf has written to the bucket.

    A server that does not answer leaves them as they are.
    """
    if settings.store.kind != "influx":
        return settings
    try:
        with InfluxClient(settings.influx) as client:
            found = kept_by_telegraf(client)
    except (StoreUnavailableError, StorageError):
        return settings
    return (
        paced(msgspec.structs.replace(settings, store=StoreSettings(kind="telegraf"))) if found else settings
    )


def told_absence(settings: Settings) -> str | None:
    """A sentence where the settings say `telegraf`, and the bucket has nothing of it; None where nothing can be asked."""
    if settings.store.kind != TelegrafStore.name:
        return None
    try:
        with InfluxClient(settings.influx) as client:
            return absence(client)
    except (StoreUnavailableError, StorageError):
        return None


class TelegrafStore:
    """A `Store` over a bucket that telegraf fills. Windows ought to be paced for it (`hostsight.cadence`).

    Every method raises StoreUnavailableError while the server does not answer as it should. Not for two threads at once.
    """

    name: ClassVar[str] = "telegraf"

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._client = InfluxClient(settings.influx)
        self._clock = clock
        self._period_ns = settings.influx.telegraf_interval.ns
        self._settings = settings
        self._newest: dict[str, int] = {}
        self._first: dict[str, int] = {}
        self._hosts: dict[str, _Host] = {}
        self._absence: str | None = None
        self._polled_ns: int | None = None
        self._surveyed_ns: int | None = None

    @property
    def problems(self) -> tuple[str, ...]:
        found = (self._absence, *(host.problem for host in self._hosts.values()))
        return tuple(problem for problem in found if problem)

    def hosts(self) -> Sequence[str]:
        self._poll()
        return sorted(self._newest)

    def span(self, host: str) -> TimeRange | None:
        """Up to one interval before the newest point: by then all inputs of the interval before have been flushed."""
        self._poll()
        if host not in self._newest:
            return None
        if host not in self._first:
            self._first |= first_stamps(self._client)
        now_ns = self._clock.wall_ns()
        return reach(self._settings, self._first.get(host, 0), self._complete(host, now_ns), now_ns)

    def _complete(self, host: str, now_ns: int) -> int:
        newest_ns = self._newest[host]
        silent = now_ns - newest_ns > SILENT_PERIODS * self._period_ns
        return floor_second(newest_ns) + (self._period_ns if silent else -self._period_ns)

    def channels(self, host: str) -> Sequence[Channel]:
        return self._hosts[host].channels if host in self._hosts else ()

    def export(self, host: str, span: TimeRange) -> pa.Table:
        known = self._hosts.setdefault(host, _Host())
        if not known.span.contains(span):
            known.span = TimeRange(span.start_ns, max(span.end_ns, self._reach(host, span)))
            known.samples = self._read(host, known)
        stamps = known.samples["ts"].cast(pa.int64())
        inside = pc.and_(pc.greater_equal(stamps, span.start_ns), pc.less(stamps, span.end_ns))
        return known.samples.filter(inside).combine_chunks()

    def _reach(self, host: str, span: TimeRange) -> int:
        """How far to read ahead: history comes in large pieces."""
        available = self.span(host)
        return min(available.end_ns if available else span.end_ns, span.start_ns + PIECE_NS)

    def _read(self, host: str, known: _Host) -> pa.Table:
        start_ns = max(0, known.span.start_ns - gap_ns(self._period_ns))
        found = read(
            self._client,
            host,
            TimeRange(start_ns, known.span.end_ns),
            self._period_ns / SECOND_NS,
        )
        known.add(found.channels)
        known.problem = self._uneven(host, found.table)
        return samples(found.table, known.span.start_ns, self._period_ns)

    def _uneven(self, host: str, readings: pa.Table) -> str | None:
        """A sentence where points come at another pace than the settings say."""
        gauges = readings.filter(pc.invert(readings["counter"]))
        stamps = np.unique(gauges.filter(pc.equal(gauges["series"], 0))["ts"].cast(pa.int64()).to_numpy())
        if len(stamps) < 4:
            return None
        usual = float(np.median(np.diff(stamps))) / self._period_ns
        if 0.5 < usual < 1.5:
            return None
        found = format_duration(round(usual * self._period_ns / SECOND_NS))
        return f"telegraf on {host} writes every {found}; set [influx] telegraf_interval = '{found}'"

    def release(self, host: str, done_ns: int) -> int:
        """Nothing: the bucket is telegraf's."""
        return 0

    def close(self) -> None:
        self._client.close()

    def _poll(self) -> None:
        """Ask for the newest points, four times an interval at most."""
        now_ns = self._clock.monotonic_ns()
        if self._polled_ns is not None and now_ns - self._polled_ns < self._period_ns // 4:
            return
        survey = self._surveyed_ns is None or now_ns - self._surveyed_ns >= SURVEY_NS
        since_ns = 0 if survey else max(0, self._clock.wall_ns() - ACTIVE_NS)
        self._newest |= newest_stamps(self._client, since_ns)
        if survey or self._newest:
            self._absence = None if self._newest else absence(self._client)
        self._polled_ns = now_ns
        if survey:
            self._surveyed_ns = now_ns


@dataclass(slots=True)
class _Host:
    """What was read last of one host. `channels` is another tuple only when they have changed."""

    span: TimeRange = field(default_factory=lambda: TimeRange(0, 0))
    samples: pa.Table = field(default_factory=SAMPLES.empty_table)
    channels: tuple[Channel, ...] = ()
    problem: str | None = None
    _known: dict[int, Channel] = field(default_factory=dict)

    def add(self, found: dict[int, Channel]) -> None:
        if not found.keys() <= self._known.keys():
            self._known = found | self._known
            self.channels = tuple(self._known.values())
