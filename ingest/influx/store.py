"""InfluxDB as a store: telemetry of any number of hosts, put there by their drains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pyarrow as pa

from hostsight.channel import Channel
from hostsight.clock import SECOND_NS, Clock
from hostsight.settings import Settings
from hostsight.timerange import TimeRange
from ingest.influx.ahead import ReadAhead
from ingest.influx.catalogue import read_channels
from ingest.influx.client import InfluxClient
from ingest.influx.export import Exporter, Key
from ingest.influx.guess import guessed_channel
from ingest.influx.hosts import first_stamp, read_progress
from ingest.influx.reach import reach
from ingest.store import SAMPLES

POLL_NS = SECOND_NS // 2
"""How often the hosts' progress is asked for."""

SURVEY_NS = 60 * SECOND_NS
"""How often it is asked for of hosts that have been silent for hours, too."""

AHEAD_NS = 60 * SECOND_NS
"""Up to this length the range that follows is fetched while one is worked on."""

ACTIVE_NS = 3 * 3600 * SECOND_NS
_HOUR_NS = 3600 * SECOND_NS


class InfluxStore:
    """A `Store` over a bucket. A question to it is one query at most twice a second, whatever the number of hosts.

    Every method raises StoreUnavailableError while the server does not answer as it should. Not for two threads at once.
    """

    name: ClassVar[str] = "influx"

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._client = InfluxClient(settings.influx)
        self._exporting = InfluxClient(settings.influx)
        self._ahead = ReadAhead(Exporter(self._exporting))
        self._settings = settings
        self._clock = clock
        self._until: dict[str, int] = {}
        self._first: dict[str, int] = {}
        self._hosts: dict[str, _Channels] = {}
        self._silent: dict[str, TimeRange] = {}
        self._polled_ns: int | None = None
        self._surveyed_ns: int | None = None

    @property
    def problems(self) -> tuple[str, ...]:
        return ()

    def hosts(self) -> Sequence[str]:
        self._poll()
        return sorted(self._until)

    def span(self, host: str) -> TimeRange | None:
        """Up to what the host's drain has sent."""
        self._poll()
        if host not in self._until:
            return None
        if host not in self._first:
            found = first_stamp(self._client, host)
            if found is None:
                return None
            self._first[host] = found
        return reach(self._settings, self._first[host], self._until[host], self._clock.wall_ns())

    def channels(self, host: str) -> Sequence[Channel]:
        return self._hosts[host].all() if host in self._hosts else ()

    def export(self, host: str, span: TimeRange) -> pa.Table:
        silence = self._silent.get(host)
        if silence is not None and silence.contains(span):
            return SAMPLES.empty_table()
        found = self._ahead.export(host, span, self._following(host, span))
        channels = self._hosts.setdefault(host, _Channels(host))
        if channels.read_to_ns < span.end_ns:
            since_ns = max(channels.read_to_ns, span.start_ns // _HOUR_NS * _HOUR_NS)
            channels.add(read_channels(self._client, host, TimeRange(since_ns, span.end_ns)))
            channels.read_to_ns = span.end_ns
        channels.add_unknown(found.channels)
        if not found.samples.num_rows:
            self._silent[host] = self._silence(host, span)
        return found.samples

    def _following(self, host: str, span: TimeRange) -> TimeRange | None:
        """What a job that catches up asks for next; None where it is not complete, or too long to be held."""
        length_ns = span.end_ns - span.start_ns
        following = TimeRange(span.end_ns, span.end_ns + length_ns)
        known = self._first.get(host, 0), self._until.get(host, 0)
        complete = reach(self._settings, *known, self._clock.wall_ns()).contains(following)
        return following if complete and length_ns <= AHEAD_NS else None

    def _silence(self, host: str, span: TimeRange) -> TimeRange:
        """From `span` to the host's next tick: days without telemetry cost one question, not one a minute."""
        until_ns = self._until.get(host, span.end_ns)
        following = first_stamp(self._client, host, span.end_ns)
        return TimeRange(span.start_ns, max(span.end_ns, min(until_ns, following or until_ns)))

    def release(self, host: str, done_ns: int) -> int:
        """Nothing: the bucket's own retention deletes."""
        return 0

    def close(self) -> None:
        self._ahead.close()
        self._exporting.close()
        self._client.close()

    def _poll(self) -> None:
        now_ns = self._clock.monotonic_ns()
        if self._polled_ns is not None and now_ns - self._polled_ns < POLL_NS:
            return
        survey = self._surveyed_ns is None or now_ns - self._surveyed_ns >= SURVEY_NS
        since_ns = 0 if survey else self._clock.wall_ns() - ACTIVE_NS
        for host, until_ns in read_progress(self._client, since_ns).items():
            self._until[host] = max(until_ns, self._until.get(host, 0))
        self._polled_ns = now_ns
        if survey:
            self._surveyed_ns = now_ns


class _Channels:
    """The channels of one host; `all` is another tuple only when they have changed."""

    def __init__(self, host: str) -> None:
        self.read_to_ns = 0
        self._host = host
        self._known: dict[int, Channel] = {}
        self._all: tuple[Channel, ...] = ()

    def all(self) -> tuple[Channel, ...]:
        return self._all

    def add(self, channels: Sequence[Channel]) -> None:
        before = dict(self._known)
        self._known.update((channel.id, channel) for channel in channels)
        if self._known != before:
            self._all = tuple(self._known.values())

    def add_unknown(self, keys: dict[int, Key]) -> None:
        """Channels that nobody announced: their names say what they are."""
        unknown = [key for identity, key in keys.items() if identity not in self._known]
        if unknown:
            self.add([guessed_channel(self._host, *key) for key in unknown])
