"""What the console reads, in the console's own words; `tui.live` is the one real source.

Every method blocks and may be called from any one thread at a time; none is called from the thread that draws.
Failures are HostsightErrors: their sentence, or the name of any other error, is shown, the last good data stays on the screen.

The types are msgspec's, not dataclasses: those would cost the first frame 7 ms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from hostsight.timerange import TimeRange

Phase = Literal["learning", "live", "no data"]
Severity = Literal["info", "warning", "critical"]
Direction = Literal["high", "low", "changed"]


class Series(Struct, frozen=True):
    """Evenly spaced values: `values[i]` stands for `step_ns` from `start_ns + i * step_ns`; NaN is absent."""

    start_ns: int = 0
    step_ns: int = 1_000_000_000
    values: Sequence[float] = ()


class HostStatus(Struct, frozen=True):
    """`progress` runs from 0 to 1 while learning; `newest_ns` is the newest data, None where there is none."""

    host: str
    phase: Phase
    progress: float
    activity: str
    newest_ns: int | None


class Pulse(Struct, frozen=True):
    """What is going on, cheap enough to be read every second."""

    hosts: tuple[HostStatus, ...] = ()
    problems: tuple[str, ...] = ()


class Headline(Struct, frozen=True):
    """The one figure that stands for a subsystem."""

    subsystem: str
    label: str
    unit: str
    series: Series


class Episode(Struct, frozen=True):
    """A row of the list; `closed_ns` is None while it is open. muted: it alerts nobody."""

    id: int
    host: str
    opened_ns: int
    last_seen_ns: int
    closed_ns: int | None
    severity: Severity
    score: float
    confidence: float
    subsystem: str
    device: str
    metric: str
    summary: str
    acknowledged: bool = False
    muted: bool = False
    cause: str = ""

    @property
    def said(self) -> str:
        """The summary, after what people have said about it."""
        words = ("acknowledged" if self.acknowledged else "", "muted" if self.muted else "", self.cause)
        known = ", ".join(word for word in words if word)
        return f"{known} · {self.summary}" if known else self.summary

    @property
    def open(self) -> bool:
        return self.closed_ns is None

    @property
    def end_ns(self) -> int:
        """When it was last out of the ordinary; it is closed only after a while in which it was not."""
        return self.last_seen_ns


class Attribution(Struct, frozen=True):
    """How much of an episode a channel explains; expected and actual are in `unit`."""

    subsystem: str
    device: str
    metric: str
    share: float
    expected: float | None
    actual: float | None
    unit: str
    direction: Direction


class DetectorVote(Struct, frozen=True):
    name: str
    tail_probability: float
    threshold: float


class EpisodeDetail(Struct, frozen=True):
    episode: Episode
    attribution: tuple[Attribution, ...]
    detectors: tuple[DetectorVote, ...]
    model: str


class View(Struct, frozen=True):
    """A view of the SQL schema: its name, and (column, type) in order."""

    name: str
    columns: tuple[tuple[str, str], ...]


class ResultColumn(Struct, frozen=True):
    name: str
    type: str
    numeric: bool


class Result(Struct, frozen=True):
    """Rows as text, column by column, None for NULL. `truncated`: the query has more rows than these."""

    columns: tuple[ResultColumn, ...]
    cells: tuple[tuple[str | None, ...], ...]
    rows: int
    truncated: bool
    seconds: float


class Query(Protocol):
    """A running query."""

    def wait(self) -> Result:
        """Blocks until it ends; raises HostsightError when it failed, was refused or cancelled."""
        ...

    def cancel(self) -> None:
        """Ends it soon; may be called from another thread, and more than once."""
        ...


class Source(Protocol):
    def pulse(self) -> Pulse: ...

    def headlines(self, span: TimeRange, points: int) -> Mapping[str, Sequence[Headline]]:
        """Of each host that has data, one a subsystem, in the order they are shown; about `points` values each."""
        ...

    def episodes(self, span: TimeRange) -> Sequence[Episode]:
        """Those that touch `span`, newest first."""
        ...

    def episode(self, episode_id: int) -> EpisodeDetail: ...

    def acknowledge(self, episode_id: int) -> None:
        """Says that somebody is at it, or takes that back; the only thing that the console writes."""
        ...

    def series(self, host: str, channel: Attribution, span: TimeRange, points: int) -> Series: ...

    def views(self) -> Sequence[View]: ...

    def query(self, text: str, rows: int) -> Query: ...
