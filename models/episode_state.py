"""What an episode tracker remembers, and what it tells."""

from __future__ import annotations

from typing import Literal

import msgspec

from models.attribution import Attribution

Severity = Literal["info", "warning", "critical"]
Action = Literal["opened", "updated", "closed", "reopened"]

NEW_REGIME = "new regime"
"""The regime of an episode that turned out to be one."""

SEVERITIES: tuple[Severity, ...] = ("info", "warning", "critical")


class Current(msgspec.Struct, kw_only=True):
    """The newest episode of a host; it is closed once `closed_ns` is set.

    opened_ns: end of the window that opened it; with the host it identifies the episode.  last_seen_ns: end of its last
    anomalous window.  windows: how many anomalous ones.  score: the largest -log10 of a window's tail probability.
    agreement: the sum of its windows' confidences.  detectors: each one's smallest tail probability.  regime: that it opened in,
    or NEW_REGIME.
    """

    opened_ns: int
    last_seen_ns: int
    closed_ns: int | None = None
    windows: int = 0
    score: float = 0.0
    agreement: float = 0.0
    severity: Severity = "info"
    threshold: float = 0.0
    model: str = ""
    detectors: dict[str, float] = {}
    attribution: tuple[Attribution, ...] = ()
    explained: float = 0.0
    regime: str = ""


class Hit(msgspec.Struct, frozen=True, array_like=True):
    """An anomalous window that may help to open an episode."""

    end_ns: int
    extreme: bool


class TrackerState(msgspec.Struct, kw_only=True):
    """What must be remembered between two runs; seen_ns: end of the newest window.

    learning: the model that does not know yet what is being learnt, for which nothing opens until `learning_until_ns`.
    """

    seen_ns: int = 0
    hits: list[Hit] = []
    current: Current | None = None
    learning: str = ""
    learning_until_ns: int = 0


class EpisodeChange(msgspec.Struct, frozen=True, kw_only=True):
    """What an episode has become; (host, opened_ns) says which."""

    action: Action
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
    model: str
    threshold: float
    detectors: dict[str, float]
    attribution: tuple[Attribution, ...]
    regime: str = ""
