"""The sampler: reads what is due at each tick and lays the values out, one float32 a channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hostsight.channel import Channel
from hostsight.clock import SECOND_NS, Clock
from hostsight.errors import UsageError
from hostsight.settings import AgentSettings, Settings
from ingest.background import BackgroundReader
from ingest.collector import Collector, Host, Slot, Tier, Values, in_background
from ingest.collectors.agent import Agent, Ticks
from ingest.meter import Meter
from ingest.reader import Condition, Reader
from ingest.schedule import Schedule

FIRST_LAYOUT_SECONDS = 2.0
"""So long the start waits for the collectors that run in the background, to begin with one layout."""

SLOW_SHARE = 0.25
"""A collector whose reading takes more than this share of a tick, three times in a row, moves to the background."""

_PATIENCE = 3


@dataclass(frozen=True, slots=True)
class Tick:
    """One sampling instant: `values` is float32[channels], NaN where a channel is absent or was not due.

    `ts_ns`: wall time, strictly increasing. `dt`: seconds since the tick before, by the monotonic clock.
    """

    ts_ns: int
    dt: float
    values: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class CollectorStatus:
    """One collector as `status` and `doctor` show it."""

    name: str
    tier: Tier
    condition: Condition
    channels: int
    read_us: float


class _Source:
    """One collector in the sampler: when it is due, and where its values go."""

    def __init__(self, reader: Reader, period_ns: int, first_ns: int, clock: Clock, slow_ns: int) -> None:
        self.collector = reader.collector
        self.slots: tuple[Slot, ...] = ()
        self.place = slice(0, 0)
        self.reader: Reader | BackgroundReader = reader
        self._clock = clock
        self._period_ns = period_ns
        self._due_ns = first_ns
        self._slow_ns = slow_ns
        self._slow = 0
        if in_background(reader.collector):
            self.reader = BackgroundReader(reader, clock)

    def poll(self, now_ns: int) -> Values | None:
        """Values that are new at this tick, float64[slots]; None where there are none."""
        due = now_ns >= self._due_ns
        if due:
            self._due_ns = max(self._due_ns + self._period_ns, now_ns - self._period_ns)
        if isinstance(self.reader, BackgroundReader):
            return self.reader.poll(due)
        if not due:
            return None
        values = self.reader.step()
        self._watch(self.reader)
        return values

    def _watch(self, reader: Reader) -> None:
        self._slow = self._slow + 1 if reader.read_ns > self._slow_ns else 0
        if self._slow >= _PATIENCE:
            self.reader = BackgroundReader(reader, self._clock)


class Sampler:
    """Drives the collectors. Their faults cost their own channels, never a tick.

    `channels` is a new tuple whenever the hardware changed; the tick that follows has the new length.
    """

    def __init__(
        self,
        collectors: Sequence[Collector],
        host: Host,
        settings: Settings,
        clock: Clock,
        *,
        not_before_ns: int = 0,
    ) -> None:
        self.meter = Meter()
        self.channels: tuple[Channel, ...] = ()
        self._host_name = settings.host
        self._clock = clock
        self._not_before_ns = not_before_ns
        self._tick_ns = settings.agent.tick.ns
        self._schedule: Schedule | None = None
        self._sources = self._arrange(collectors, host, settings.agent)

    def _arrange(
        self, collectors: Sequence[Collector], host: Host, settings: AgentSettings
    ) -> tuple[_Source, ...]:
        """Sources of the medium tier take turns, so that no tick reads them all."""
        periods = {Tier.FAST: 0, Tier.MEDIUM: settings.medium.ns, Tier.SLOW: settings.slow.ns}
        slow_ns = round(SLOW_SHARE * self._tick_ns)
        now, turn, sources = self._clock.monotonic_ns(), 0, []
        for collector in collectors:
            if isinstance(collector, Agent | Ticks):
                collector.meter = self.meter
            reader = Reader(collector, host, self._clock)
            first_ns = now
            if collector.tier is Tier.MEDIUM:
                first_ns += turn * self._tick_ns % max(periods[Tier.MEDIUM], 1)
                turn += 1
            sources.append(_Source(reader, periods[collector.tier], first_ns, self._clock, slow_ns))
        return tuple(sources)

    def open(self) -> None:
        """Find out the layout; waits a little for collectors in the background, so that one layout does."""
        for source in self._sources:
            if isinstance(source.reader, BackgroundReader):
                source.reader.poll(due=True)
            else:
                source.reader.open()
        deadline = self._clock.monotonic_ns() + round(FIRST_LAYOUT_SECONDS * SECOND_NS)
        for source in self._sources:
            if isinstance(source.reader, BackgroundReader):
                source.reader.wait(max(0.0, (deadline - self._clock.monotonic_ns()) / SECOND_NS))
        self._lay_out()
        self._schedule = Schedule(self._clock, self._tick_ns, not_before_ns=self._not_before_ns)

    def tick(self) -> Tick:
        """Wait for the next deadline and read what is due."""
        if self._schedule is None:
            self.open()
        assert self._schedule is not None  # noqa: S101 - open() made it
        instant = self._schedule.wait()
        self.meter.tick(instant)
        read = [source.poll(instant.monotonic_ns) for source in self._sources]
        if any(source.slots is not source.reader.slots for source in self._sources):
            self._lay_out()
        values = np.full(len(self.channels), np.nan, dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            for source, new in zip(self._sources, read, strict=True):
                if new is not None:
                    values[source.place] = new
        values[np.isinf(values)] = np.nan
        return Tick(instant.wall_ns, instant.dt, values)

    def collectors(self) -> list[CollectorStatus]:
        return [
            CollectorStatus(
                source.collector.name,
                source.collector.tier,
                source.reader.condition,
                len(source.slots),
                source.reader.read_ns / 1e3,
            )
            for source in self._sources
        ]

    def close(self) -> None:
        for source in self._sources:
            source.reader.close()

    def _lay_out(self) -> None:
        channels: list[Channel] = []
        for source in self._sources:
            source.slots = source.reader.slots
            source.place = slice(len(channels), len(channels) + len(source.slots))
            channels += [self._channel(slot) for slot in source.slots]
        self.channels = tuple(channels)

    def _channel(self, slot: Slot) -> Channel:
        metric = slot.metric
        return Channel(
            self._host_name,
            slot.subsystem,
            slot.device,
            metric.name,
            metric.kind,
            metric.unit,
            slot.period_seconds,
            slot.source,
        )


def host_of(settings: AgentSettings) -> Host:
    """Where the collectors read; raises UsageError where `[agent] root` is no folder."""
    root = Path(settings.root)
    if not root.is_dir():
        raise UsageError(
            f"[agent] root = {settings.root} is not a folder; name one that holds proc/ and sys/"
        )
    return Host(root.absolute(), settings.per_cpu_limit, settings.device_limit)
