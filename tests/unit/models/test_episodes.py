from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from hostsight.clock import SECOND_NS
from hostsight.errors import CorruptError
from hostsight.settings import DetectSettings
from hostsight.timerange import TimeRange
from models.attribution import Attribution
from models.episode_state import EpisodeChange
from models.episodes import EpisodeTracker
from models.scored import Scored

SETTINGS = DetectSettings(open_extreme=3)
USUAL, ODD, WILD = 0.5, 5e-3, 1e-7
"""Tail probabilities: not anomalous, anomalous, far beyond the tail."""


def scored(tails: Sequence[float], start: int = 1) -> Scored:
    """A window a second from `start`, with these tail probabilities in every detector."""
    tail = np.array(tails)
    return Scored(
        ends=(start + np.arange(len(tail))) * SECOND_NS,
        detectors=("zscore", "mahalanobis"),
        scores=np.column_stack([-np.log(tail)] * 2),
        tail=np.column_stack([tail] * 2),
        rank=1 / tail,
        fused=tail,
        anomalous=tail <= 0.01,
        extreme=tail <= 1e-4,
        confidence=np.where(tail <= 0.01, 0.75, 0.0),
        threshold=0.01,
    )


def blame(subsystem: str) -> tuple[Attribution, ...]:
    return (
        Attribution(
            channel_id=len(subsystem),
            subsystem=subsystem,
            device="host",
            metric="busy_percent",
            share=1.0,
            expected=4.0,
            actual=97.0,
            unit="%",
            direction="high",
            deviation=20.0,
        ),
    )


class Watched:
    """A tracker with what it said."""

    def __init__(self, settings: DetectSettings = SETTINGS) -> None:
        self.tracker = EpisodeTracker("gpu01", settings, SECOND_NS)
        self.changes: list[EpisodeChange] = []
        self._next = 1

    def see(self, *tails: float, subsystem: str = "cpu", quiet: Sequence[TimeRange] = ()) -> list[str]:
        """One window a call, as live; what it changed."""
        before = len(self.changes)
        for tail in tails:
            block = scored([tail], self._next)
            self.changes += self.tracker.update(block, lambda _: blame(subsystem), "m1", quiet)
            self._next += 1
        return [change.action for change in self.changes[before:]]

    def skip(self, seconds: int) -> None:
        self._next += seconds


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_nothing_happens_while_nothing_is_odd(watched: Watched) -> None:
    assert watched.see(*[USUAL] * 500) == []


def test_six_of_eight_open_and_five_do_not(watched: Watched) -> None:
    assert watched.see(ODD, ODD, USUAL, ODD, ODD, USUAL, ODD) == []
    assert watched.see(ODD) == ["opened"]


def test_hits_older_than_eight_windows_do_not_count(watched: Watched) -> None:
    assert watched.see(*[ODD] * 5, *[USUAL] * 3, ODD) == []


def test_a_gap_in_the_windows_counts_as_time(watched: Watched) -> None:
    watched.see(*[ODD] * 5)
    watched.skip(20)
    assert watched.see(ODD) == []


def test_three_in_a_row_far_beyond_the_tail_open(watched: Watched) -> None:
    assert watched.see(WILD, WILD) == []
    assert watched.see(WILD) == ["opened"]


def test_three_far_beyond_the_tail_with_a_break_do_not(watched: Watched) -> None:
    assert watched.see(WILD, WILD, USUAL, WILD) == []


def test_an_open_episode_lives_on_rare_hits_and_closes_after_thirty_quiet_seconds(watched: Watched) -> None:
    watched.see(*[WILD] * 3)
    assert watched.see(*[USUAL] * 29, ODD) == ["updated"]
    assert watched.see(*[USUAL] * 29) == []
    assert watched.see(USUAL) == ["closed"]
    assert watched.changes[-1].last_seen_ns == 33 * SECOND_NS
    assert watched.changes[-1].closed_ns == 63 * SECOND_NS


def test_what_comes_back_within_two_minutes_is_the_same_episode(watched: Watched) -> None:
    watched.see(*[WILD] * 3, *[USUAL] * 100)
    assert watched.see(*[WILD] * 3) == ["reopened"]
    assert watched.changes[-1].opened_ns == 3 * SECOND_NS
    assert watched.changes[-1].closed_ns is None


def test_what_comes_back_later_is_another(watched: Watched) -> None:
    watched.see(*[WILD] * 3, *[USUAL] * 160)
    assert watched.see(*[WILD] * 3) == ["opened"]
    assert watched.changes[-1].opened_ns == 166 * SECOND_NS


def test_another_cause_within_two_minutes_is_another_episode(watched: Watched) -> None:
    watched.see(*[WILD] * 3, *[USUAL] * 60)
    assert watched.see(*[WILD] * 3, subsystem="storage") == ["opened"]
    first, second = watched.changes[0], watched.changes[-1]
    assert (first.subsystem, second.subsystem) == ("cpu", "storage")
    assert second.opened_ns == 66 * SECOND_NS
    assert [item.subsystem for item in second.attribution] == ["storage"]
    assert watched.see(*[USUAL] * 60, *[WILD] * 3, subsystem="storage") == ["closed", "reopened"]


def test_a_second_cause_while_one_is_open_joins_it(watched: Watched) -> None:
    watched.see(*[WILD] * 3)
    assert set(watched.see(*[WILD] * 20, subsystem="storage")) == {"updated"}


def test_attribution_follows_the_newest_windows(watched: Watched) -> None:
    watched.see(*[WILD] * 3)
    assert watched.changes[-1].subsystem == "cpu"
    watched.see(*[WILD] * 100, subsystem="storage")
    assert watched.changes[-1].subsystem == "storage"
    assert sum(item.share for item in watched.changes[-1].attribution) == pytest.approx(1)


def test_windows_seen_before_change_nothing(watched: Watched) -> None:
    block = scored([WILD] * 5)
    first = watched.tracker.update(block, lambda _: blame("cpu"), "m1")
    assert [change.action for change in first] == ["opened", "updated"]
    assert watched.tracker.update(block, lambda _: blame("cpu"), "m1") == []


def test_hostsights_own_work_opens_nothing_but_keeps_open(watched: Watched) -> None:
    refit = [TimeRange(0, 10 * SECOND_NS), TimeRange(40 * SECOND_NS, 50 * SECOND_NS)]
    assert watched.see(*[WILD] * 10, quiet=refit) == []
    assert watched.see(*[WILD] * 3, quiet=refit) == ["opened"]
    assert watched.see(*[USUAL] * 27, WILD, quiet=refit) == ["updated"]


@pytest.mark.parametrize("size", [1, 3, 10, 1000])
def test_how_windows_are_batched_does_not_matter(size: int) -> None:
    rng = np.random.default_rng(8)
    odd = np.repeat(rng.random(400) < 0.1, 10)
    tails = np.where(odd & (rng.random(4000) < 0.9), WILD, USUAL)
    tracker = EpisodeTracker("h", SETTINGS, SECOND_NS)
    found = []
    for start in range(0, len(tails), size):
        block = scored(tails[start : start + size].tolist(), start + 1)
        found += tracker.update(block, lambda _: blame("cpu"), "m1")
    marks = [(c.action, c.opened_ns, c.closed_ns) for c in found if c.action != "updated"]
    whole = EpisodeTracker("h", SETTINGS, SECOND_NS).update(
        scored(tails.tolist()), lambda _: blame("cpu"), "m1"
    )
    assert marks == [(c.action, c.opened_ns, c.closed_ns) for c in whole if c.action != "updated"]
    assert found[-1].last_seen_ns == whole[-1].last_seen_ns


def test_a_tracker_carries_on_from_its_text(watched: Watched) -> None:
    watched.see(*[ODD] * 5)
    again = EpisodeTracker.restore("gpu01", SETTINGS, SECOND_NS, watched.tracker.dump())
    opened = again.update(scored([ODD], 6), lambda _: blame("cpu"), "m1")
    assert [change.action for change in opened] == ["opened"]
    third = EpisodeTracker.restore("gpu01", SETTINGS, SECOND_NS, again.dump())
    assert third.open_since_ns == 6 * SECOND_NS
    assert third.dump() == again.dump()


def test_a_damaged_text_is_refused_with_the_remedy() -> None:
    with pytest.raises(CorruptError, match=r"gpu01.*trackers"):
        EpisodeTracker.restore("gpu01", SETTINGS, SECOND_NS, '{"hits": 3}')


@pytest.mark.parametrize(
    ("tails", "severity"),
    [
        ([ODD] * 6, "info"),
        ([ODD] * 66, "warning"),
        ([WILD] * 3, "warning"),
        ([WILD] * 64, "critical"),
        ([WILD] * 64 + [ODD] * 9, "critical"),
    ],
)
def test_severity_grows_with_rarity_and_time_and_does_not_fall(tails: list[float], severity: str) -> None:
    watched = Watched()
    watched.see(*tails)
    assert watched.changes[-1].severity == severity


def test_a_change_says_how_rare_how_sure_and_which_detectors(watched: Watched) -> None:
    watched.see(ODD, WILD, WILD, WILD)
    opened = watched.changes[0]
    assert opened.score == pytest.approx(7.0)
    assert opened.confidence == pytest.approx(0.75)
    assert opened.detectors == {"zscore": WILD, "mahalanobis": WILD}
    assert opened.threshold == 0.01
    assert opened.summary == "cpu: busy is 97 %, usually 4 %"


def test_time_alone_closes_the_episode_of_a_host_that_went_silent(watched: Watched) -> None:
    watched.see(*[WILD] * 3)
    assert watched.tracker.pass_time(32 * SECOND_NS) == []
    closed = watched.tracker.pass_time(500 * SECOND_NS)
    assert [change.closed_ns for change in closed] == [33 * SECOND_NS]
    assert watched.tracker.pass_time(600 * SECOND_NS) == []


def test_the_first_window_after_a_long_gap_closes_what_was_open(watched: Watched) -> None:
    watched.see(*[WILD] * 3)
    watched.skip(3600)
    assert watched.see(WILD) == ["closed"]
    assert watched.changes[-1].closed_ns == 33 * SECOND_NS


def test_a_new_regime_ends_its_episode_and_nothing_opens_while_it_is_learnt(watched: Watched) -> None:
    watched.see(*[WILD] * 400)
    (change,) = watched.tracker.adopt(400 * SECOND_NS)
    assert (change.action, change.severity, change.regime) == ("closed", "info", "new regime")
    assert (
        change.summary
        == "new regime: cpu: busy is 97 %, usually 4 %; steady after 6m37s, and learnt as normal"
    )
    assert watched.see(*[WILD] * 600) == [], "a refit has ten minutes"
    assert watched.see(*[WILD] * 4)[0] == "opened"


def test_a_model_that_knows_the_new_regime_is_listened_to_at_once(watched: Watched) -> None:
    watched.see(*[WILD] * 400)
    watched.tracker.adopt(400 * SECOND_NS)
    block = scored([WILD] * 4, 401)
    changes = watched.tracker.update(block, lambda _: blame("memory"), "m2")
    assert changes[0].action == "opened"


def test_nothing_is_adopted_where_nothing_is_open(watched: Watched) -> None:
    watched.see(*[USUAL] * 5)
    assert watched.tracker.adopt(5 * SECOND_NS) == []
