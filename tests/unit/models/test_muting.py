from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from hostsight.clock import SECOND_NS
from hostsight.errors import UsageError
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from migrations import open_state
from models.attribution import Attribution, Direction
from models.episode_state import EpisodeChange
from models.episode_store import Episode, apply_changes, get_episode, open_count, quarantined
from models.feedback import acknowledge, call_false_alarm, name_cause, take_back, withdraw
from models.muting import Suppression, add_suppression, end_suppression, list_suppressions

MINUTE = 60
BUSY = "busy_percent"


@pytest.fixture
def connection(data: DataFolder) -> Iterator[sqlite3.Connection]:
    connection = open_state(data.state_db)
    connection.execute("INSERT INTO models VALUES ('m1', 'gpu01', 'live', 1, 0, 1, 178, 20, 20, 'test')")
    yield connection
    connection.close()


def channel(
    metric: str, share: float, actual: float = 90.0, direction: Direction = "high", device: str = "host"
) -> Attribution:
    """Ten is expected."""
    return Attribution(
        channel_id=hash((metric, device)) % 2**60, subsystem="cpu", device=device, metric=metric, share=share,
        expected=10.0, actual=actual, unit="%", direction=direction, deviation=9.0,
    )  # fmt: skip


def seen(
    connection: sqlite3.Connection,
    minute: int,
    *channels: Attribution,
    host: str = "gpu01",
    seconds: int = 10,
    closed: bool = False,
) -> Episode:
    """An episode that opened in that minute and was last seen `seconds` later."""
    main = channels[0]
    opened_ns = minute * MINUTE * SECOND_NS
    last_ns = opened_ns + seconds * SECOND_NS
    change = EpisodeChange(
        action="updated", host=host, opened_ns=opened_ns, last_seen_ns=last_ns, closed_ns=last_ns if closed else None,
        severity="warning", score=5.0, confidence=1.0, subsystem=main.subsystem, device=main.device,
        metric=main.metric, summary="", model="m1", threshold=0.01, detectors={}, attribution=channels,
    )  # fmt: skip
    (number,) = apply_changes(connection, [change], 1)
    return get_episode(connection, number).episode


def rule(connection: sqlite3.Connection, start: int = 0, end: int | None = None, **patterns: str) -> int:
    """It holds from minute `start` until `end`."""
    facts = {
        "from_ns": start * MINUTE * SECOND_NS,
        "until_ns": None if end is None else end * MINUTE * SECOND_NS,
    }
    return add_suppression(connection, Suppression(**facts, **patterns))  # type: ignore[arg-type]  # facts of two types


@pytest.mark.parametrize(
    ("patterns", "muted"),
    [
        ({"host": "gpu01"}, True),
        ({"host": "gpu*", "subsystem": "cpu"}, True),
        ({"metric": "busy_?ercent"}, True),
        ({"host": "gpu02"}, False),
        ({"host": "gpu01", "subsystem": "storage"}, False),
        ({"device": "cpu*"}, False),
    ],
)
def test_a_rule_mutes_what_all_its_patterns_match(
    connection: sqlite3.Connection, patterns: dict[str, str], muted: bool
) -> None:
    rule(connection, 0, None, **patterns)
    assert seen(connection, 5, channel(BUSY, 1.0)).muted is muted


def test_a_maintenance_mutes_from_its_start_until_its_end(connection: sqlite3.Connection) -> None:
    rule(connection, 10, 20, host="gpu01")
    assert [seen(connection, minute, channel(BUSY, 1.0)).muted for minute in (9, 10, 19, 20)] == [
        False, True, True, False,
    ]  # fmt: skip


def test_an_episode_that_outlasts_its_rule_becomes_loud(connection: sqlite3.Connection) -> None:
    rule(connection, 10, 20, host="gpu01")
    assert seen(connection, 19, channel(BUSY, 1.0), seconds=50).muted
    assert open_count(connection) == 0
    assert not seen(connection, 19, channel(BUSY, 1.0), seconds=70).muted
    assert open_count(connection) == 1


def test_an_episode_that_turns_into_something_else_becomes_loud(connection: sqlite3.Connection) -> None:
    rule(connection, metric=BUSY)
    assert seen(connection, 1, channel(BUSY, 0.9), channel("system_percent", 0.1)).muted
    assert not seen(connection, 1, channel("system_percent", 0.6), channel(BUSY, 0.4), seconds=20).muted


def test_a_rule_that_is_ended_holds_no_more_and_is_remembered(connection: sqlite3.Connection) -> None:
    number = rule(connection, host="gpu01")
    end_suppression(connection, number, 5 * MINUTE * SECOND_NS)
    assert seen(connection, 4, channel(BUSY, 1.0)).muted
    assert not seen(connection, 5, channel(BUSY, 1.0)).muted
    assert list_suppressions(connection, 6 * MINUTE * SECOND_NS) == []
    assert [one.id for one in list_suppressions(connection, 6 * MINUTE * SECOND_NS, ended=True)] == [number]
    with pytest.raises(UsageError, match=f"no suppression {number} that could be ended"):
        end_suppression(connection, number, 7 * MINUTE * SECOND_NS)


def test_the_like_of_a_false_alarm_is_muted(connection: sqlite3.Connection) -> None:
    first = seen(connection, 1, channel(BUSY, 0.7), channel("system_percent", 0.3), closed=True)
    call_false_alarm(connection, first.id)
    again = seen(connection, 9, channel(BUSY, 0.6, 95.0), channel("user_percent", 0.4))
    assert again.false_alarm_id == first.id
    assert get_episode(connection, first.id).episode.false_alarm_id == first.id


@pytest.mark.parametrize(
    ("channels", "host"),
    [
        ((channel(BUSY, 1.0, 111.0),), "gpu01"),
        ((channel(BUSY, 1.0, -70.0, "low"),), "gpu01"),
        ((channel(BUSY, 1.0, device="cpu1"),), "gpu01"),
        ((channel(BUSY, 0.4), channel("user_percent", 0.3), channel("idle_percent", 0.3)), "gpu01"),
        ((channel(BUSY, 1.0),), "gpu02"),
    ],
    ids=["higher", "other way", "other device", "mostly else", "other host"],
)
def test_what_is_not_like_a_false_alarm_is_loud(
    connection: sqlite3.Connection, channels: tuple[Attribution, ...], host: str
) -> None:
    """The level of the false alarm is 80 above what is expected: 100 above is the limit."""
    call_false_alarm(connection, seen(connection, 1, channel(BUSY, 1.0), closed=True).id)
    assert not seen(connection, 9, *channels, host=host).muted


def test_false_alarms_are_learnt_and_suppressed_episodes_are_not(connection: sqlite3.Connection) -> None:
    false = seen(connection, 1, channel(BUSY, 1.0), seconds=300, closed=True)
    call_false_alarm(connection, false.id)
    seen(connection, 20, channel(BUSY, 1.0), seconds=300, closed=True)
    rule(connection, metric="system_percent")
    maintained = seen(connection, 40, channel("system_percent", 1.0), seconds=300, closed=True)
    assert maintained.muted
    left_out = quarantined(connection, "gpu01", Settings(), 99 * MINUTE * SECOND_NS)
    assert [span.end_ns for span in left_out] == [maintained.last_seen_ns]


def test_a_cause_is_known_again_on_any_host_at_any_level(connection: sqlite3.Connection) -> None:
    first = seen(connection, 1, channel(BUSY, 1.0), closed=True)
    name_cause(connection, first.id, "stray-build")
    again = seen(connection, 9, channel(BUSY, 1.0, 500.0), host="gpu02")
    other = seen(connection, 9, channel("user_percent", 1.0))
    assert (again.cause, again.cause_id, other.cause) == ("stray-build", first.id, None)
    assert not again.muted


def test_a_corrected_cause_holds_for_what_goes_on(connection: sqlite3.Connection) -> None:
    first = seen(connection, 1, channel(BUSY, 1.0))
    again = seen(connection, 9, channel(BUSY, 1.0), host="gpu02")
    name_cause(connection, first.id, "stray-build")
    name_cause(connection, first.id, "backup")
    assert get_episode(connection, again.id).episode.cause == "backup"
    withdraw(connection, first.id)
    assert get_episode(connection, again.id).episode.cause is None


def test_an_acknowledgement_lasts_as_long_as_the_episode(connection: sqlite3.Connection) -> None:
    number = seen(connection, 1, channel(BUSY, 1.0)).id
    acknowledge(connection, number, 77)
    assert seen(connection, 1, channel(BUSY, 1.0), seconds=20).acknowledged_ns == 77
    seen(connection, 1, channel(BUSY, 1.0), seconds=20, closed=True)
    assert seen(connection, 1, channel(BUSY, 1.0), seconds=60).acknowledged_ns == 77, "it opens again"
    assert seen(connection, 9, channel(BUSY, 1.0)).acknowledged_ns is None, "another one"


def test_taking_an_acknowledgement_back_leaves_the_rest(connection: sqlite3.Connection) -> None:
    number = seen(connection, 1, channel(BUSY, 1.0)).id
    acknowledge(connection, number, 77)
    name_cause(connection, number, "backup")
    take_back(connection, number)
    found = get_episode(connection, number).episode
    assert (found.acknowledged_ns, found.cause) == (None, "backup")


def test_what_is_over_cannot_be_acknowledged(connection: sqlite3.Connection) -> None:
    number = seen(connection, 1, channel(BUSY, 1.0), closed=True).id
    with pytest.raises(UsageError, match=f"episode {number} is over"):
        acknowledge(connection, number, 77)


def test_withdrawing_makes_loud_what_a_false_alarm_muted(connection: sqlite3.Connection) -> None:
    first = seen(connection, 1, channel(BUSY, 1.0), closed=True)
    call_false_alarm(connection, first.id)
    again = seen(connection, 9, channel(BUSY, 1.0))
    withdraw(connection, first.id)
    assert (again.muted, get_episode(connection, again.id).episode.muted) == (True, False)


@pytest.mark.parametrize("name", ["", "Numa remote", "-x", "x" * 65, "a\nb"])
def test_a_cause_has_a_plain_name(connection: sqlite3.Connection, name: str) -> None:
    number = seen(connection, 1, channel(BUSY, 1.0)).id
    with pytest.raises(UsageError, match="cannot name a cause"):
        name_cause(connection, number, name)


def test_an_unknown_episode_is_named(connection: sqlite3.Connection) -> None:
    with pytest.raises(UsageError, match="no episode 9 here"):
        call_false_alarm(connection, 9)
