"""A source whose answers a test sets; everything it gives is plain data."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from hostsight.clock import SECOND_NS
from hostsight.errors import HostsightError, UsageError
from hostsight.timerange import TimeRange
from tui.source import (
    Attribution,
    DetectorVote,
    Episode,
    EpisodeDetail,
    Headline,
    HostStatus,
    Pulse,
    Result,
    ResultColumn,
    Series,
    View,
)

NOW = 1_800_000_000 * SECOND_NS
HOST = HostStatus(
    host="gpu01",
    phase="live",
    progress=1.0,
    activity="model gpu01-3, learnt from 6 h",
    newest_ns=NOW - SECOND_NS,
)
EPISODE = Episode(
    id=7,
    host="gpu01",
    opened_ns=NOW - 90 * SECOND_NS,
    last_seen_ns=NOW - SECOND_NS,
    closed_ns=None,
    severity="critical",
    score=9.5,
    confidence=0.75,
    subsystem="cpu",
    device="host",
    metric="busy_percent",
    summary="cpu: busy is 97 %, usually 4 %",
)
ATTRIBUTION = (
    Attribution("cpu", "host", "busy_percent", 0.5, 4.2, 97.1, "%", "high"),
    Attribution("cpu", "cpu3", "user_percent", 0.2, 3.0, 99.0, "%", "high"),
    Attribution("memory", "node0", "free_bytes", 0.2, 6.1e10, 1.2e9, "bytes", "low"),
    Attribution("storage", "nvme0n1", "read_await_seconds", 0.1, None, 0.0042, "seconds", "changed"),
)
DETAIL = EpisodeDetail(
    episode=EPISODE,
    attribution=ATTRIBUTION,
    detectors=(DetectorVote("mahalanobis", 1e-6, 1e-2), DetectorVote("zscore", 0.02, 0.01)),
    model="gpu01-3",
)
VIEWS = (
    View("samples", (("ts", "TIMESTAMP_NS"), ("channel_id", "BIGINT"), ("value", "FLOAT"))),
    View("episodes", (("id", "BIGINT"), ("summary", "VARCHAR"))),
)
RESULT = Result(
    columns=(ResultColumn("metric", "VARCHAR", False), ResultColumn("n", "BIGINT", True)),
    cells=(("busy_percent", "[red]x[/red]", None), ("1", "22", "333")),
    rows=3,
    truncated=False,
    seconds=0.25,
)


def wave(span: TimeRange, points: int = 60, peak: float = 50.0) -> Series:
    step = max(1, (span.end_ns - span.start_ns) // points)
    values = [peak * (1 + math.sin(index / 4)) / 2 for index in range(points)]
    return Series(span.start_ns, step, values)


@dataclass
class FakeQuery:
    """Ends at once with `outcome`, or when cancelled if it is None."""

    outcome: Result | Exception | None
    cancelled: threading.Event = field(default_factory=threading.Event)

    def wait(self) -> Result:
        if self.outcome is None:
            assert self.cancelled.wait(30)
            raise UsageError("the query was cancelled")
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    def cancel(self) -> None:
        self.cancelled.set()


@dataclass
class FakeSource:
    """`failure` makes every reading fail, `refusal` every acknowledgement; `texts` holds the queries that were run."""

    hosts: tuple[HostStatus, ...] = (HOST,)
    problems: tuple[str, ...] = ()
    rows: Sequence[Episode] = (EPISODE,)
    detail: EpisodeDetail = DETAIL
    lines: Sequence[Headline] | None = None
    outcome: Result | Exception | None = RESULT
    failure: Exception | None = None
    texts: list[str] = field(default_factory=list)
    refusal: HostsightError | None = None
    acknowledged: list[int] = field(default_factory=list)
    spans: list[TimeRange] = field(default_factory=list)
    started: FakeQuery | None = None

    def pulse(self) -> Pulse:
        if self.failure is not None:
            raise self.failure
        return Pulse(self.hosts, self.problems)

    def headlines(self, span: TimeRange, points: int) -> Mapping[str, Sequence[Headline]]:
        self.spans.append(span)
        lines = self._lines(span) if self.lines is None else self.lines
        return {host.host: lines for host in self.hosts}

    def _lines(self, span: TimeRange) -> Sequence[Headline]:
        return (
            Headline("cpu", "busy", "%", wave(span, peak=90)),
            Headline("memory", "used", "%", wave(span, peak=40)),
            Headline("interconnect", "other node", "1/s", wave(span, peak=2000)),
            Headline("network", "rx + tx", "bytes/s", wave(span, peak=3e8)),
            Headline("storage", "read + write", "bytes/s", wave(span, peak=2e9)),
        )

    def episodes(self, span: TimeRange) -> Sequence[Episode]:
        return self.rows

    def acknowledge(self, episode_id: int) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.acknowledged.append(episode_id)
        self.rows = [
            replace(row, acknowledged=not row.acknowledged) if row.id == episode_id else row
            for row in self.rows
        ]
        self.detail = replace(self.detail, episode=replace(self.detail.episode, acknowledged=True))

    def episode(self, episode_id: int) -> EpisodeDetail:
        if episode_id != self.detail.episode.id:
            raise UsageError(f"there is no episode {episode_id}; `hostsight anomalies` lists them")
        return self.detail

    def series(self, host: str, channel: Attribution, span: TimeRange, points: int) -> Series:
        return wave(span, points, peak=97)

    def views(self) -> Sequence[View]:
        return VIEWS

    def query(self, text: str, rows: int) -> FakeQuery:
        self.texts.append(text)
        self.started = FakeQuery(self.outcome)
        return self.started


def many(count: int) -> list[Episode]:
    """Closed episodes, newest first, a minute apart."""
    return [
        replace(
            EPISODE,
            id=count - index,
            opened_ns=NOW - (index + 2) * 60 * SECOND_NS,
            last_seen_ns=NOW - (index + 2) * 60 * SECOND_NS + 20 * SECOND_NS,
            closed_ns=NOW - (index + 2) * 60 * SECOND_NS + 50 * SECOND_NS,
            severity=("info", "warning", "critical")[index % 3],
            subsystem=("cpu", "memory", "network", "storage")[index % 4],
            score=float(index % 97),
        )
        for index in range(count)
    ]
