"""From anomalous windows to episodes: what a person is shown as one thing.

A pure state machine, a tracker a host. An episode opens when `open_hits` of the last `open_of` windows were anomalous, or
`open_extreme` in a row were far beyond the tail; any anomalous window keeps it open; it closes `close_after` after the last
one; and what would open within `merge_gap` of that for a like cause continues it, so one cause is one episode.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from hostsight.clock import SECOND_NS
from hostsight.errors import CorruptError
from hostsight.settings import DetectSettings
from hostsight.timerange import TimeRange
from models.attribution import Attribution, akin, blend, headline
from models.episode_state import (
    NEW_REGIME,
    SEVERITIES,
    Action,
    Current,
    EpisodeChange,
    Hit,
    Severity,
    TrackerState,
)
from models.scored import Scored
from models.wording import new_regime, summary

Explain = Callable[[Sequence[int]], tuple[Attribution, ...]]
"""Rows of the block being scored -> what sets them apart (`Baseline.attribute`)."""

_LASTING_NS = 60 * SECOND_NS
_CRITICAL_SCORE = 6.0
_LEARNING_NS = 600 * SECOND_NS
"""A refit that has not come to know a new regime by then is not waited for."""
_MEMORY = 60.0
"""An attribution is an average over about so many anomalous windows, the newest ones."""


@dataclass(slots=True)
class _Pass:
    """One block on its way through the tracker; pending: anomalous rows that the attribution does not cover yet."""

    scored: Scored
    explain: Explain
    model: str
    unmeasured: Collection[int] = ()
    pending: list[int] = field(default_factory=list)
    changes: list[EpisodeChange] = field(default_factory=list)


class EpisodeTracker:
    """`stride_ns` is the time between two windows' ends."""

    def __init__(
        self, host: str, settings: DetectSettings, stride_ns: int, state: TrackerState | None = None
    ) -> None:
        self._host = host
        self._settings = settings
        self._stride_ns = stride_ns
        self._state = state or TrackerState()

    @classmethod
    def restore(cls, host: str, settings: DetectSettings, stride_ns: int, text: str | None) -> EpisodeTracker:
        """From what `dump` gave; None starts anew. Raises CorruptError."""
        if text is None:
            return cls(host, settings, stride_ns)
        try:
            state = msgspec.json.decode(text, type=TrackerState)
        except msgspec.DecodeError as error:
            raise CorruptError(
                f"the episode tracker of host {host} cannot be read ({error}); delete its row from trackers in the state database"
            ) from error
        return cls(host, settings, stride_ns, state)

    def dump(self) -> str:
        return msgspec.json.encode(self._state).decode()

    @property
    def open_episode(self) -> Current | None:
        current = self._state.current
        return current if current is not None and current.closed_ns is None else None

    @property
    def open_since_ns(self) -> int | None:
        """End of the window that opened the episode which is open now."""
        current = self.open_episode
        return None if current is None else current.opened_ns

    def update(
        self,
        scored: Scored,
        explain: Explain,
        model: str,
        quiet: Sequence[TimeRange] = (),
        unmeasured: Collection[int] = (),
    ) -> list[EpisodeChange]:
        """What the windows change, in order; windows that were seen before change nothing.

        Windows that end within `quiet` (while hostsight itself works hard) cannot help to open an episode, but keep one open.
        Those that end at `unmeasured` say nothing of the hits before them: `open_of` windows do not count them.
        """
        work = _Pass(scored, explain, model, unmeasured)
        for row in np.flatnonzero(scored.ends > self._state.seen_ns).tolist():
            self._step(work, row, quiet)
        self._report_progress(work)
        return work.changes

    def pass_time(self, now_ns: int) -> list[EpisodeChange]:
        """Close an episode whose host has sent no window for long enough."""
        current = self.open_episode
        if current is None or now_ns - current.last_seen_ns < self._settings.close_after.ns:
            return []
        return [self._closed(current, now_ns)]

    def adopt(self, now_ns: int) -> list[EpisodeChange]:
        """The open episode is a new regime: it ends, and nothing opens while a refit learns it."""
        current = self.open_episode
        if current is None:
            return []
        current.regime, current.severity = NEW_REGIME, "info"
        self._state.learning, self._state.learning_until_ns = current.model, now_ns + _LEARNING_NS
        return [self._closed(current, now_ns)]

    def _learning(self, model: str, end_ns: int) -> bool:
        return model == self._state.learning and end_ns <= self._state.learning_until_ns

    def _step(self, work: _Pass, row: int, quiet: Sequence[TimeRange]) -> None:
        end_ns = int(work.scored.ends[row])
        self._state.seen_ns = end_ns
        self._close_if_over(work, row)
        if not work.scored.anomalous[row]:
            self._wait(work, end_ns)
            return
        if (current := self.open_episode) is not None:
            self._extend(current, work, row)
        elif not (
            self._learning(work.model, end_ns) or any(span.start_ns < end_ns <= span.end_ns for span in quiet)
        ):
            self._count(work, row)

    def _wait(self, work: _Pass, end_ns: int) -> None:
        """A window that was not measured moves the hits along, as if it were not there."""
        if end_ns in work.unmeasured:
            self._state.hits = [Hit(hit.end_ns + self._stride_ns, hit.extreme) for hit in self._state.hits]

    def _close_if_over(self, work: _Pass, row: int) -> None:
        current, end_ns = self.open_episode, int(work.scored.ends[row])
        if current is None:
            return
        silence_ns = end_ns - current.last_seen_ns - int(work.scored.anomalous[row])
        if silence_ns >= self._settings.close_after.ns:
            self._explain(current, work)
            work.changes.append(self._closed(current, end_ns))

    def _closed(self, current: Current, now_ns: int) -> EpisodeChange:
        current.closed_ns = min(now_ns, current.last_seen_ns + self._settings.close_after.ns)
        self._state.hits = []
        return self._change("closed", current)

    def _count(self, work: _Pass, row: int) -> None:
        """One more hit while nothing is open; opens an episode where a rule is met."""
        end_ns = int(work.scored.ends[row])
        since = end_ns - self._settings.open_of * self._stride_ns
        hits = [hit for hit in self._state.hits if hit.end_ns > since]
        hits.append(Hit(end_ns, bool(work.scored.extreme[row])))
        self._state.hits = hits
        work.pending = [each for each in work.pending if work.scored.ends[each] > since]
        if self._enough(hits):
            self._open(work, row)
        else:
            work.pending.append(row)

    def _enough(self, hits: Sequence[Hit]) -> bool:
        last = hits[-self._settings.open_extreme :]
        unbroken = last[-1].end_ns - last[0].end_ns <= (len(last) - 1) * self._stride_ns
        far = len(last) == self._settings.open_extreme and unbroken and all(hit.extreme for hit in last)
        return far or len(hits) >= self._settings.open_hits

    def _open(self, work: _Pass, row: int) -> None:
        end_ns = int(work.scored.ends[row])
        before = self._state.current
        if before is not None and self._continues(before, work, row):
            current = before
            current.closed_ns = None
        else:
            regime = work.scored.regimes[row] if work.scored.regimes else ""
            current = Current(opened_ns=end_ns, last_seen_ns=end_ns, regime=regime)
        self._state.current = current
        self._state.hits = []
        self._extend(current, work, row)
        self._explain(current, work)
        work.changes.append(self._change("reopened" if current is before else "opened", current))

    def _continues(self, before: Current, work: _Pass, row: int) -> bool:
        """Whether what opens now is what closed a while ago: soon enough, and of a like cause."""
        gap_ns = int(work.scored.ends[row]) - (before.closed_ns or 0)
        soon = gap_ns <= self._settings.merge_gap.ns and before.regime != NEW_REGIME
        return soon and akin(before.attribution, work.explain([*work.pending, row]))

    def _extend(self, current: Current, work: _Pass, row: int) -> None:
        scored = work.scored
        current.last_seen_ns = int(scored.ends[row])
        current.windows += 1
        current.agreement += float(scored.confidence[row])
        current.score = max(current.score, float(-np.log10(scored.fused[row])))
        current.threshold, current.model = scored.threshold, work.model
        for name, tail in zip(scored.detectors, scored.tail[row].tolist(), strict=True):
            current.detectors[name] = min(tail, current.detectors.get(name, 1.0))
        current.severity = max(current.severity, _severity(current), key=SEVERITIES.index)
        work.pending.append(row)

    def _explain(self, current: Current, work: _Pass) -> None:
        if not work.pending:
            return
        weight = float(len(work.pending))
        found = work.explain(work.pending)
        current.attribution = blend(current.attribution, current.explained, found, weight)
        current.explained = min(_MEMORY, current.explained + weight)
        work.pending = []

    def _report_progress(self, work: _Pass) -> None:
        """One `updated` for all windows since the last change, where there were any."""
        current = self.open_episode
        if current is not None and work.pending:
            self._explain(current, work)
            work.changes.append(self._change("updated", current))

    def _change(self, action: Action, current: Current) -> EpisodeChange:
        main = headline(current.attribution)
        words = main.words or summary(main)
        if current.regime == NEW_REGIME:
            words = new_regime(words, current.last_seen_ns - current.opened_ns)
        return EpisodeChange(
            action=action,
            host=self._host,
            opened_ns=current.opened_ns,
            last_seen_ns=current.last_seen_ns,
            closed_ns=current.closed_ns,
            severity=current.severity,
            score=current.score,
            confidence=current.agreement / max(1, current.windows),
            subsystem=main.subsystem,
            device=main.device,
            metric=main.metric,
            summary=words,
            model=current.model,
            threshold=current.threshold,
            detectors=dict(current.detectors),
            attribution=current.attribution,
            regime=current.regime,
        )


def _severity(current: Current) -> Severity:
    """Rare beyond doubt and lasting is critical; either of far beyond the threshold or lasting is a warning."""
    lasting = current.last_seen_ns - current.opened_ns >= _LASTING_NS
    if lasting and current.score >= _CRITICAL_SCORE:
        return "critical"
    far = current.score >= -2 * np.log10(current.threshold)
    return "warning" if lasting or far else "info"
