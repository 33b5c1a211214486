from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator

import msgspec
import pytest

from hostsight.clock import SECOND_NS
from hostsight.errors import UsageError
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from hostsight.timerange import TimeRange
from migrations import open_state
from models.attribution import Attribution
from models.episode_state import EpisodeChange
from models.episode_store import (
    apply_changes,
    get_episode,
    list_episodes,
    load_tracker,
    open_count,
    quarantined,
    save_tracker,
)

SETTINGS = Settings()
LEAD = 11
"""Seconds before an episode opened that belong to it: eight windows, and the length of the first."""


@pytest.fixture
def connection(data: DataFolder) -> Iterator[sqlite3.Connection]:
    connection = open_state(data.state_db)
    connection.execute(
        "INSERT INTO models VALUES ('m1', 'gpu01', 'live', 1, 0, ?, 178, 20, 20, 'test')",
        (86_400 * SECOND_NS,),
    )
    yield connection
    connection.close()


def attribution(share: float, device: str = "vda") -> Attribution:
    return Attribution(
        channel_id=2**62 + 1,
        subsystem="storage",
        device=device,
        metric="write_bytes_per_s",
        share=share,
        expected=3e4,
        actual=2e8,
        unit="B/s",
        direction="high",
        deviation=60.0,
    )


def change(
    opened: int, last_seen: int, *, closed: bool = False, metric: str = "write_bytes_per_s"
) -> EpisodeChange:
    """Times in seconds."""
    return EpisodeChange(
        action="closed" if closed else "opened",
        host="gpu01",
        opened_ns=opened * SECOND_NS,
        last_seen_ns=last_seen * SECOND_NS,
        closed_ns=(last_seen + 30) * SECOND_NS if closed else None,
        severity="warning",
        score=5.5,
        confidence=0.667,
        subsystem="storage",
        device="vda",
        metric=metric,
        summary="storage vda: write is 200 MB/s, usually 30 kB/s",
        model="m1",
        threshold=0.01,
        detectors={"zscore": 0.02, "mahalanobis": 1e-6},
        attribution=(attribution(0.8), attribution(0.2, "vdb")),
    )


def test_an_episode_opens_as_a_row_and_closes_in_it(connection: sqlite3.Connection) -> None:
    apply_changes(connection, [change(100, 100)], now_ns=101 * SECOND_NS)
    apply_changes(connection, [change(100, 160, closed=True)], now_ns=900 * SECOND_NS)
    (episode,) = list_episodes(connection)
    assert (episode.state, episode.last_seen_ns, episode.closed_ns) == (
        "closed",
        160 * SECOND_NS,
        190 * SECOND_NS,
    )
    assert episode.visible_ns == 101 * SECOND_NS


def test_anomalies_have_the_documented_keys_and_times(connection: sqlite3.Connection) -> None:
    apply_changes(connection, [change(100, 100)], now_ns=0)
    row = list_episodes(connection)[0].to_json()
    assert list(row) == [
        "id", "host", "state", "opened", "last_seen", "closed", "severity", "score", "confidence",
        "subsystem", "device", "metric", "cause", "cause_from", "regime", "acknowledged", "suppressed_by", "false_alarm_like", "summary",
    ]  # fmt: skip
    assert row["opened"] == "1970-01-01T00:01:40.000Z"
    assert row["closed"] is None


def test_explain_adds_attribution_detectors_and_model(connection: sqlite3.Connection) -> None:
    apply_changes(connection, [change(100, 100)], now_ns=0)
    shown = json.loads(msgspec.json.encode(get_episode(connection, 1).to_json()))
    assert [(item["device"], item["share"]) for item in shown["attribution"]] == [("vda", 0.8), ("vdb", 0.2)]
    assert shown["attribution"][0]["channel_id"] == str(2**62 + 1)
    assert shown["detectors"][0] == {"name": "mahalanobis", "tail_probability": 1e-6, "threshold": 0.01}
    assert shown["model"] == "m1"


def test_a_later_change_replaces_the_attribution(connection: sqlite3.Connection) -> None:
    apply_changes(connection, [change(100, 100)], now_ns=0)
    later = msgspec.structs.replace(change(100, 130), attribution=(attribution(1.0, "vdc"),))
    apply_changes(connection, [later], now_ns=0)
    assert [item.device for item in get_episode(connection, 1).attribution] == ["vdc"]


def test_an_unknown_episode_is_a_sentence(connection: sqlite3.Connection) -> None:
    with pytest.raises(UsageError, match="no episode 7 here; `hostsight anomalies`"):
        get_episode(connection, 7)


def test_episodes_are_listed_by_time_host_and_state(connection: sqlite3.Connection) -> None:
    apply_changes(connection, [change(100, 150, closed=True), change(500, 510)], now_ns=0)
    assert [e.opened_ns // SECOND_NS for e in list_episodes(connection)] == [500, 100]
    assert [e.id for e in list_episodes(connection, since_ns=160 * SECOND_NS)] == [2]
    assert [e.id for e in list_episodes(connection, since_ns=150 * SECOND_NS)] == [2, 1]
    assert [e.id for e in list_episodes(connection, until_ns=500 * SECOND_NS)] == [1]
    assert [e.id for e in list_episodes(connection, since_ns=10**18)] == [2]
    assert list_episodes(connection, host="gpu02") == []
    assert [e.id for e in list_episodes(connection, state="closed")] == [1]
    assert (open_count(connection), open_count(connection, "gpu02")) == (1, 0)


def spans(connection: sqlite3.Connection, now: int) -> list[tuple[int, int]]:
    found = quarantined(connection, "gpu01", SETTINGS, now * SECOND_NS)
    return [(span.start_ns // SECOND_NS, span.end_ns // SECOND_NS) for span in found]


def test_windows_that_led_to_an_episode_are_quarantined_with_it(connection: sqlite3.Connection) -> None:
    apply_changes(connection, [change(100, 150, closed=True), change(500, 510)], now_ns=0)
    assert spans(connection, now=600) == [(500 - LEAD, 600), (100 - LEAD, 150)]


def test_what_has_lasted_six_hours_is_the_new_normal(connection: sqlite3.Connection) -> None:
    apply_changes(connection, [change(100, 150)], now_ns=0)
    assert spans(connection, now=100 + 6 * 3600 - 1) == [(100 - LEAD, 100 + 6 * 3600 - 1)]
    assert spans(connection, now=100 + 6 * 3600) == []


@pytest.mark.parametrize(("trained", "patience"), [(180, 600), (3600, 3600), (86_400, 6 * 3600)])
def test_a_young_model_is_doubted_sooner(connection: sqlite3.Connection, trained: int, patience: int) -> None:
    connection.execute("UPDATE models SET trained_to_ns = ?", (trained * SECOND_NS,))
    apply_changes(connection, [change(100, 150)], now_ns=0)
    assert len(spans(connection, now=100 + patience - 1)) == 1
    assert spans(connection, now=100 + patience) == []


def test_short_episodes_that_keep_coming_back_are_learnt(connection: sqlite3.Connection) -> None:
    for start in (1000, 2000, 3000):
        apply_changes(connection, [change(start, start + 20, closed=True)], now_ns=0)
    apply_changes(connection, [change(9000, 9010, closed=True, metric="other")], now_ns=0)
    assert len(spans(connection, now=10_000)) == 4
    apply_changes(connection, [change(4000, 4020, closed=True), change(6000, 6300, closed=True)], now_ns=0)
    assert spans(connection, now=10_000) == [(9000 - LEAD, 9010), (6000 - LEAD, 6300)]


def test_a_trackers_state_is_kept_by_host(connection: sqlite3.Connection) -> None:
    assert load_tracker(connection, "gpu01") is None
    save_tracker(connection, "gpu01", "{}")
    save_tracker(connection, "gpu01", '{"seen_ns":1}')
    assert load_tracker(connection, "gpu01") == '{"seen_ns":1}'
    assert load_tracker(connection, "gpu02") is None


def test_a_time_range_of_no_length_is_never_quarantined_backwards(connection: sqlite3.Connection) -> None:
    apply_changes(connection, [change(100, 100)], now_ns=0)
    assert quarantined(connection, "gpu01", SETTINGS, 0) == [
        TimeRange((100 - LEAD) * SECOND_NS, 100 * SECOND_NS)
    ]
