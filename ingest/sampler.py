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
from ingest.collectors.agent import AgentCollector, TicksCollector
from ingest.meter import Meter
from ingest.pace import Pace
from ingest.reader import Condition, Reader
from ingest.schedule import Schedule

FIRST_LAYOUT_SECONDS = 2.0
"""So long the start waits for the collectors that run in the background, to begin with one layout."""

SLOW_SHARE = 0.25
"""A collector whose reading takes more than this share of a tick, three times in a row, moves to the background; so does
one that a watchdog had to interrupt."""

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

    def __init__(self, reader: Reader, period_ns: int, delay_ns: int, tick_ns: int, clock: Clock) -> None:
        self.collector = reader.collector
        self.tier = reader.tier
        self.slots: tuple[Slot, ...] = ()
        self.place = slice(0, 0)
        self.reader: Reader | BackgroundReader = reader
        self._clock = clock
        self._period_ns = period_ns
        self._delay_ns = delay_ns
        self._tick_ns = tick_ns
        self._due_ns: int | None = None
        self._slow = 0
        if in_background(reader.collector):
            self.reader = BackgroundReader(reader, clock)

    def poll(self, now_ns: int) -> Values | None:
        """Values that are new at this tick, float64[slots]; None where there are none."""
        reader = self.reader
        if isinstance(reader, BackgroundReader):
            return reader.poll(self._is_due(now_ns))
        if not self._is_due(now_ns):
            return None
        values = reader.step()
        self._watch(reader)
        return values

    def _is_due(self, now_ns: int) -> bool:
        """Half a tick early counts, so that jitter moves no reading to the tick after its own."""
        if self._due_ns is None:
            self._due_ns = now_ns + self._delay_ns
        soon_ns = now_ns + self._tick_ns // 2
        if soon_ns < self._due_ns:
            return False
        self._due_ns += self._period_ns
        if self._due_ns <= soon_ns:
            self._due_ns = now_ns + self._period_ns
        return True

    def _watch(self, reader: Reader) -> None:
        self._slow = self._slow + 1 if reader.read_ns > SLOW_SHARE * self._tick_ns else 0
        if self._slow >= _PATIENCE or reader.held_up:
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
        self._absent = np.empty(0, dtype=np.float32)
        self._kept: NDArray[np.intp] | None = None
        self._schedule: Schedule | None = None
        self._pace = Pace(self._tick_ns, settings.agent.idle_tick.ns) if settings.agent.adaptive else None
        self._sources = self._arrange(collectors, host, settings.agent)

    def _arrange(
        self, collectors: Sequence[Collector], host: Host, settings: AgentSettings
    ) -> tuple[_Source, ...]:
        """Sources of the medium tier take turns, so that no tick reads them all."""
        periods = {Tier.FAST: 0, Tier.MEDIUM: settings.medium.ns, Tier.SLOW: settings.slow.ns}
        turns = max(1, periods[Tier.MEDIUM] // self._tick_ns)
        turn, sources = 0, []
        for collector in collectors:
            if isinstance(collector, AgentCollector | TicksCollector):
                collector.meter = self.meter
            reader = Reader(collector, host, self._clock)
            delay_ns = turn % turns * self._tick_ns if reader.tier is Tier.MEDIUM else 0
            turn += reader.tier is Tier.MEDIUM
            sources.append(_Source(reader, periods[reader.tier], delay_ns, self._tick_ns, self._clock))
        return tuple(sources)

    def open(self) -> None:
        """Find out the layout; waits a little for collectors in the background, so that one layout does."""
        background = [s.reader for s in self._sources if isinstance(s.reader, BackgroundReader)]
        for reader in background:
            reader.poll(due=True)
        deadline = self._clock.monotonic_ns() + round(FIRST_LAYOUT_SECONDS * SECOND_NS)
        for reader in background:
            reader.wait(max(0.0, (deadline - self._clock.monotonic_ns()) / SECOND_NS))
        for source in self._sources:
            self.meter.read_ns[source.collector.name] = 0
            if isinstance(source.reader, Reader):
                source.reader.open()
            if not source.reader.slots:
                del self.meter.read_ns[source.collector.name]
        self._lay_out()
        self._schedule = Schedule(self._clock, self._tick_ns, not_before_ns=self._not_before_ns)

    def tick(self) -> Tick:
        """Wait for the next deadline and read what is due."""
        if self._schedule is None:
            self.open()
        assert self._schedule is not None  # noqa: S101 - open() made it
        instant = self._schedule.wait()
        self.meter.tick(instant)
        with np.errstate(over="ignore", invalid="ignore"):
            readings = self._read(instant.monotonic_ns)
            values = self._gather(readings)
        if self._pace is not None:
            self._schedule.pace(self._pace.follow(values, self.channels, instant.dt))
        return Tick(instant.wall_ns, instant.dt, values)

    def collectors(self) -> list[CollectorStatus]:
        return [
            CollectorStatus(
                source.collector.name,
                source.tier,
                source.reader.condition,
                len(source.slots),
                source.reader.read_ns / 1e3,
            )
            for source in self._sources
        ]

    @property
    def tick_seconds(self) -> float:
        """Time between two ticks at present."""
        return (self._tick_ns if self._pace is None else self._pace.tick_ns) / SECOND_NS

    @property
    def held(self) -> bool:
        """Whether a collector is at work in the tick itself."""
        return any(isinstance(one.reader, Reader) and one.reader.busy for one in self._sources)

    @property
    def threaded(self) -> tuple[str, ...]:
        """The collectors that have a thread of their own now, by name."""
        threaded = (one for one in self._sources if isinstance(one.reader, BackgroundReader))
        return tuple(source.collector.name for source in threaded)

    def close(self) -> None:
        """Close every collector; one that never returns is left behind."""
        for source in self._sources:
            source.reader.close()

    def _read(self, now_ns: int) -> list[tuple[_Source, Values]]:
        """Poll every source; the layout is new where the hardware changed."""
        readings: list[tuple[_Source, Values]] = []
        changed = False
        for source in self._sources:
            values = source.poll(now_ns)
            changed |= source.slots is not source.reader.slots
            if values is not None:
                self.meter.read_ns[source.collector.name] = source.reader.read_ns
                readings.append((source, values))
        if changed:
            self._lay_out()
        return readings

    def _gather(self, readings: Sequence[tuple[_Source, Values]]) -> NDArray[np.float32]:
        values = self._absent.copy()
        for source, reading in readings:
            values[source.place] = reading
        infinite = np.isinf(values)
        if np.count_nonzero(infinite):
            values[infinite] = np.nan
        return values if self._kept is None else values[self._kept]

    def _lay_out(self) -> None:
        """Columns of all sources, in order; a channel that is given twice keeps its first."""
        channels: list[Channel] = []
        for source in self._sources:
            source.slots = source.reader.slots
            source.place = slice(len(channels), len(channels) + len(source.slots))
            channels += [self._channel(slot) for slot in source.slots]
        first = {channel.id: at for at, channel in reversed([*enumerate(channels)])}
        self._absent = np.full(len(channels), np.nan, dtype=np.float32)
        self._kept = None if len(first) == len(channels) else np.array(sorted(first.values()), dtype=np.intp)
        self.channels = tuple(channels if self._kept is None else [channels[at] for at in self._kept])

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
