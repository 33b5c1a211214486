"""The sampler: reads what is due at each tick and lays the values out, one float32 a channel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from hostsight.channel import Channel
from hostsight.clock import SECOND_NS, Clock, floor_second
from hostsight.errors import UsageError
from hostsight.settings import AgentSettings, Settings
from ingest.background import BackgroundReader
from ingest.captures import Captures
from ingest.collector import Collector, Host, Slot, Tier, in_background
from ingest.collectors.agent import AgentCollector, TicksCollector
from ingest.crew import Crew
from ingest.heartbeat import CollectorBeat
from ingest.meter import Meter
from ingest.pace import Pace
from ingest.reader import Reader
from ingest.schedule import Instant, Schedule
from ingest.source import SLOW_SHARE, Source

_Reading = tuple[Source, NDArray[np.floating]]
_Laid = tuple[int, slice, NDArray[np.floating]]
"""Which tick, which of its columns, and what goes there."""

FIRST_LAYOUT_SECONDS = 2.0
"""So long the start waits for the collectors that run in the background, to begin with one layout."""


@dataclass(frozen=True, slots=True)
class Tick:
    """One sampling instant: `values` is float32[channels], NaN where a channel is absent or was not due.

    `ts_ns`: wall time, strictly increasing. `dt`: seconds since the tick before, by the monotonic clock.
    """

    ts_ns: int
    dt: float
    values: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive ticks of one layout."""

    channels: tuple[Channel, ...]
    ticks: list[Tick]


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
        self.stamp_ns = 0
        """Of the newest tick."""
        self._host_name = settings.host
        self._clock = clock
        self._not_before_ns = not_before_ns
        self._tick_ns = settings.agent.tick.ns
        self._columns = 0
        self._kept: NDArray[np.intp] | None = None
        self._schedule: Schedule | None = None
        self._pace = Pace(self._tick_ns, settings.agent.idle_tick.ns) if settings.agent.adaptive else None
        self._crew = Crew(clock)
        self._sources = self._arrange(collectors, host, settings.agent)
        self._fast = [source for source in self._sources if source.tier is Tier.FAST]
        self._captures = Captures(self._fast)
        self._rarer = [source for source in self._sources if source.tier is not Tier.FAST]
        self._due_ns = 0
        """When the next of the rarer sources is due, wall time."""
        self._begun_ns = 0
        """When the newest tick did, monotonic."""
        self._instants: list[Instant] = []
        self._polled: list[_Laid] = []
        """What was read for those instants already; the rest is captured."""
        self._parse_ns = 0

    def _arrange(
        self, collectors: Sequence[Collector], host: Host, settings: AgentSettings
    ) -> tuple[Source, ...]:
        """Sources that the tick itself reads each `medium` take turns, so that no tick reads them all.

        Those in the background follow one another from one tick on.
        """
        periods = {Tier.FAST: 0, Tier.MEDIUM: settings.medium.ns, Tier.SLOW: settings.slow.ns}
        turns = max(1, periods[Tier.MEDIUM] // self._tick_ns)
        turn, sources = 0, []
        for collector in collectors:
            if isinstance(collector, AgentCollector | TicksCollector):
                collector.meter = self.meter
            reader = Reader(collector, host, self._clock)
            takes_turns = reader.tier is Tier.MEDIUM and not in_background(collector)
            delay_ns = turn % turns * self._tick_ns if takes_turns else 0
            turn += takes_turns
            period_ns = periods[reader.tier]
            sources.append(Source(reader, period_ns, delay_ns, self._tick_ns, self._in_thread))
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
        self._captures.renew()
        self._schedule = Schedule(self._clock, self._tick_ns, not_before_ns=self._not_before_ns)

    def tick(self) -> Tick:
        """Wait for the next deadline and read what is due."""
        schedule = self._opened()
        instant = self._wait(schedule)
        with np.errstate(over="ignore", invalid="ignore"):
            readings, changed = self._poll(self._sources, instant)
            if changed:
                self._lay_out()
            row = self._stored(self._row(readings)[0])
        if self._pace is not None:
            schedule.pace(self._pace.follow(row, self.channels, instant.dt))
        return Tick(instant.wall_ns, instant.dt, row)

    def advance(self) -> list[Batch]:
        """Wait for the next deadline and take what is due then; the ticks whose values are known by now, in order.

        What was captured is parsed all at once, in the first tick of each wall second, or earlier where that would take
        long. Where the rate is adaptive each tick is known as soon as it was taken.
        """
        if self._pace is not None:
            tick = self.tick()
            return [Batch(self.channels, [tick])]
        instant = self._wait(self._opened())
        self._captures.take()
        self._instants.append(instant)
        others, over = self._captures.others, self._is_time()
        if others or over or instant.wall_ns + self._tick_ns // 2 >= self._due_ns:
            with np.errstate(over="ignore", invalid="ignore"):
                readings, changed = self._poll([*others, *self._rarer], instant)
                self._due_ns = min((source.due_ns for source in self._rarer), default=0)
                if changed:
                    return self._settle_changed(readings)
                self._note(readings)
        return self.settle() if over else []

    def settle(self) -> list[Batch]:
        """The ticks that `advance` has taken and not given yet."""
        if not self._instants:
            return []
        channels = self.channels
        with np.errstate(over="ignore", invalid="ignore"):
            instants, values = self._parse()
            ticks = self._ticks(instants, values)
        if any(source.changed for source in self._fast):
            self._lay_out()
        return [Batch(channels, ticks)]

    def collectors(self) -> list[CollectorBeat]:
        return [_beat(source) for source in self._sources]

    @property
    def tick_seconds(self) -> float:
        """Time between two ticks at present."""
        return (self._tick_ns if self._pace is None else self._pace.tick_ns) / SECOND_NS

    @property
    def held_seconds(self) -> float:
        """For how long the tick has lasted, where a collector is at work in it now; else 0. Endless before the first."""
        reading = any(isinstance(one.reader, Reader) and one.reader.busy for one in self._sources)
        if not reading and not self._captures.busy:
            return 0.0
        return (self._clock.monotonic_ns() - self._begun_ns) / SECOND_NS if self._begun_ns else math.inf

    @property
    def threaded(self) -> tuple[str, ...]:
        """The collectors that are read in the background now, by name."""
        threaded = (one for one in self._sources if isinstance(one.reader, BackgroundReader))
        return tuple(source.collector.name for source in threaded)

    def close(self) -> None:
        """Close every collector; one that never returns is left behind."""
        for source in self._sources:
            source.reader.close()
        self._crew.close()

    def _opened(self) -> Schedule:
        if self._schedule is None:
            self.open()
        assert self._schedule is not None  # noqa: S101 - open() made it
        return self._schedule

    def _wait(self, schedule: Schedule) -> Instant:
        self._crew.begin()
        instant = schedule.wait()
        self.stamp_ns, self._begun_ns = instant.wall_ns, instant.monotonic_ns
        self.meter.tick(instant)
        return instant

    def _in_thread(self, reader: Reader) -> BackgroundReader:
        return BackgroundReader(reader, self._clock, self._crew)

    def _poll(self, sources: Sequence[Source], instant: Instant) -> tuple[list[_Reading], bool]:
        """Readings that are new, and whether the hardware of any source has changed."""
        readings: list[_Reading] = []
        changed = False
        for source in sources:
            values = source.poll(instant.wall_ns)
            changed |= source.changed
            if values is not None:
                self.meter.read_ns[source.collector.name] = source.reader.read_ns
                readings.append((source, values))
        return readings, changed

    def _is_time(self) -> bool:
        """Whether a second is over, or parsing one tick more would take too much of the tick."""
        first, last = self._instants[0], self._instants[-1]
        if floor_second(first.wall_ns) != floor_second(last.wall_ns):
            return True
        return (len(self._instants) + 1) * self._parse_ns > SLOW_SHARE * self._tick_ns

    def _parse(self) -> tuple[list[Instant], NDArray[np.float32]]:
        """The instants taken, and the values of each, float32[instants, columns]."""
        started = perf_counter_ns()
        instants, self._instants = self._instants, []
        values = self._laid(len(instants), self._polled)
        self._polled = []
        for source in self._captures.settle(values, instants[-1].monotonic_ns):
            self.meter.read_ns[source.collector.name] = source.reader.read_ns
        self._parse_ns = (perf_counter_ns() - started) // len(instants)
        return instants, values

    def _settle_changed(self, readings: Sequence[_Reading]) -> list[Batch]:
        """All ticks, where the hardware changed in the newest: that one alone is laid out anew."""
        old, new = (
            [one for one in readings if not one[0].changed],
            [one for one in readings if one[0].changed],
        )
        self._note(old)
        channels = self.channels
        instants, values = self._parse()
        known = [Batch(channels, self._ticks(instants[:-1], values[:-1]))] if len(instants) > 1 else []
        kept = [(source, values[-1, source.place]) for source in self._sources if not source.changed]
        self._lay_out()
        newest = self._row([*kept, *new])
        return [*known, Batch(self.channels, self._ticks(instants[-1:], newest))]

    def _ticks(self, instants: Sequence[Instant], values: NDArray[np.float32]) -> list[Tick]:
        stored = self._stored(values)
        return [Tick(at.wall_ns, at.dt, row) for at, row in zip(instants, stored, strict=True)]

    def _note(self, readings: Sequence[_Reading]) -> None:
        """Each is of the newest tick, or of an earlier one by which a thread had it."""
        for source, values in readings:
            at = first_after(self._instants, source.done_ns) if source.done_ns else len(self._instants) - 1
            self._polled.append((at, source.place, values))

    def _row(self, readings: Sequence[_Reading]) -> NDArray[np.float32]:
        """One tick, float32[1, columns]."""
        return self._laid(1, [(0, source.place, values) for source, values in readings])

    def _laid(self, ticks: int, readings: Sequence[_Laid]) -> NDArray[np.float32]:
        """float32[ticks, columns], NaN where nothing was read."""
        laid = np.full((ticks, self._columns), np.nan, dtype=np.float32)
        for at, place, values in readings:
            laid[at, place] = values
        return laid

    def _stored(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Of `values`, [..., columns], what is kept, [..., channels]."""
        infinite = np.isinf(values)
        if np.count_nonzero(infinite):
            values[infinite] = np.nan
        return values if self._kept is None else values[..., self._kept]

    def _lay_out(self) -> None:
        """Columns of all sources, in order; a channel that is given twice keeps its first."""
        channels: list[Channel] = []
        for source in self._sources:
            source.slots = source.reader.slots
            source.place = slice(len(channels), len(channels) + len(source.slots))
            channels += [self._channel(slot) for slot in source.slots]
        first = {channel.id: at for at, channel in reversed([*enumerate(channels)])}
        self._columns = len(channels)
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


def first_after(instants: Sequence[Instant], monotonic_ns: int) -> int:
    """Which of `instants` is the first that is not before `monotonic_ns`; the last where all are."""
    return next(
        (at for at, one in enumerate(instants) if one.monotonic_ns >= monotonic_ns), len(instants) - 1
    )


def host_of(settings: AgentSettings) -> Host:
    """Where the collectors read; raises UsageError where `[agent] root` is no folder."""
    root = Path(settings.root)
    if not root.is_dir():
        raise UsageError(
            f"[agent] root = {settings.root} is not a folder; name one that holds proc/ and sys/"
        )
    return Host(root.absolute(), settings.per_cpu_limit, settings.device_limit)


def _beat(source: Source) -> CollectorBeat:
    condition = source.reader.condition
    return CollectorBeat(
        name=source.collector.name,
        tier=source.tier.value,
        state=condition.state,
        reason=condition.reason,
        error=condition.error,
        channels=len(source.slots),
        read_us=source.reader.read_ns / 1e3,
    )
