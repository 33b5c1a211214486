"""What an operator does to episodes, each in one transaction with the alerts that it starts or ends."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from hostsight.settings import AlertSettings
from jobs.alerts import queue_alerts
from migrations.transaction import transaction
from models.feedback import acknowledge, call_false_alarm, name_cause, take_back, withdraw
from models.muting import Suppression, add_suppression, end_suppression, review_open


def give_feedback(
    connection: sqlite3.Connection,
    settings: AlertSettings,
    episode_id: int,
    words: Iterable[str],
    now_ns: int,
) -> None:
    """`words`: ack, unack, false-alarm, cause=ID, withdraw; all or none hold. Raises UsageError."""
    with transaction(connection):
        for word in words:
            _say(connection, episode_id, word, now_ns)
        queue_alerts(connection, settings, {episode_id, *review_open(connection)}, now_ns)


def _say(connection: sqlite3.Connection, episode_id: int, word: str, now_ns: int) -> None:
    if word == "ack":
        acknowledge(connection, episode_id, now_ns)
    elif word == "unack":
        take_back(connection, episode_id)
    elif word == "false-alarm":
        call_false_alarm(connection, episode_id)
    elif word == "withdraw":
        withdraw(connection, episode_id)
    else:
        name_cause(connection, episode_id, word.removeprefix("cause="))


def suppress(connection: sqlite3.Connection, settings: AlertSettings, rule: Suppression, now_ns: int) -> int:
    """The rule's number."""
    with transaction(connection):
        rule_id = add_suppression(connection, rule)
        queue_alerts(connection, settings, review_open(connection), now_ns)
    return rule_id


def unsuppress(connection: sqlite3.Connection, settings: AlertSettings, rule_id: int, now_ns: int) -> None:
    """Raises UsageError where there is nothing to end. What goes on is loud again with its next anomalous window."""
    with transaction(connection):
        end_suppression(connection, rule_id, now_ns)
        queue_alerts(connection, settings, review_open(connection), now_ns)
