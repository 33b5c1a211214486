"""What a receiver is told of an episode from its beginning to its end."""

from __future__ import annotations

import sqlite3
from typing import Any

from hostsight.clock import FakeClock
from hostsight.settings import AlertSettings
from jobs.operations import give_feedback, suppress
from models.muting import Suppression
from tests.unit.jobs.alerts.conftest import OVER, T0, Job, Tell
from tests.unit.jobs.alerts.receiver import Receiver


def test_a_webhook_hears_once_of_the_beginning_and_once_of_the_end(
    receiver: Receiver, webhook: AlertSettings, tell: Tell, job: Job
) -> None:
    for second in range(5):
        tell(webhook, second)
    tell(webhook, 9, closed=True)
    tell(webhook, 9, closed=True, judged=OVER)

    assert job(webhook).run() == 2
    assert job(webhook).run() == 0
    assert [body["status"] for body in receiver.bodies] == ["firing", "resolved"]
    path, headers, first = receiver.told[0]
    assert (path, headers["Content-Type"]) == ("/hook?key=s3cret", "application/json")
    assert headers["Idempotency-Key"] == f"hostsight-{first['id']}"
    assert first["severity"] == "warning"
    assert first["episode"]["attribution"][0]["actual"] == 2e8
    assert (first["episode"]["state"], receiver.bodies[1]["episode"]["state"]) == ("open", "closed")


def test_what_closes_and_opens_again_within_the_merge_gap_is_one_alert(
    receiver: Receiver, webhook: AlertSettings, tell: Tell, job: Job
) -> None:
    sender = job(webhook)
    tell(webhook, 1)
    tell(webhook, 9, closed=True, judged=OVER - 1)
    sender.run()
    tell(webhook, 159, judged=1000)
    sender.run()
    assert [body["status"] for body in receiver.bodies] == ["firing"]
    tell(webhook, 1000, closed=True, judged=1000 + OVER)
    sender.run()
    assert [body["status"] for body in receiver.bodies] == ["firing", "resolved"]
    assert receiver.bodies[1]["episode"]["closed"] == "2023-11-14T22:30:30.000Z"


def test_a_host_that_fell_silent_resolves_once_the_merge_gap_is_over(
    receiver: Receiver, webhook: AlertSettings, tell: Tell, job: Job, clock: FakeClock
) -> None:
    tell(webhook, 1, judged=1)
    clock.advance(3600)
    sender = job(webhook)
    tell(webhook, 9, closed=True)
    clock.advance(120)
    sender.run()
    assert [body["status"] for body in receiver.bodies] == ["firing"], (
        "the hour nobody listened is no silence"
    )
    clock.advance(1)
    sender.run()
    assert [body["status"] for body in receiver.bodies] == ["firing", "resolved"]


def test_below_the_severity_nothing_is_said_until_it_gets_worse(
    receiver: Receiver, webhook: AlertSettings, tell: Tell, job: Job
) -> None:
    tell(webhook, 1, severity="info")
    assert job(webhook).run() == 0
    tell(webhook, 2, severity="warning")
    tell(webhook, 3, severity="critical")
    job(webhook).run()
    assert [body["severity"] for body in receiver.bodies] == ["warning", "critical"]


def labels(alert: dict[str, Any]) -> tuple[str, str, str]:
    return alert["labels"]["host"], alert["labels"]["episode"], alert["labels"]["severity"]


def test_alertmanager_is_told_by_labels_and_when_it_ends(
    receiver: Receiver, alertmanager: AlertSettings, tell: Tell, job: Job
) -> None:
    number = tell(alertmanager, 1)
    job(alertmanager).run()
    tell(alertmanager, 9, closed=True, judged=OVER)
    job(alertmanager).run()

    assert {path for path, _, _ in receiver.told} == {"/api/v2/alerts"}
    first, last = receiver.bodies[0][0], receiver.bodies[-1][0]
    assert first["labels"] == last["labels"]
    assert first["labels"]["alertname"] == "HostsightEpisode"
    assert labels(first) == ("gpu01", str(number), "warning")
    assert first["startsAt"] == "2023-11-14T22:13:20.000Z"
    assert first["annotations"]["summary"].startswith("storage vda: write is 200 MB/s")
    assert first["endsAt"] > last["endsAt"], "goes on for five minutes unless told again; has ended"


def test_an_escalation_ends_the_alert_of_the_lower_severity(
    receiver: Receiver, alertmanager: AlertSettings, tell: Tell, job: Job
) -> None:
    sender = job(alertmanager)
    tell(alertmanager, 1)
    sender.run()
    tell(alertmanager, 2, severity="critical")
    sender.run()
    now, before = receiver.bodies[-1]
    assert (now["labels"]["severity"], before["labels"]["severity"]) == ("critical", "warning")
    assert now["endsAt"] > before["endsAt"]


def test_alertmanager_is_reminded_each_minute_of_what_goes_on(
    receiver: Receiver, alertmanager: AlertSettings, tell: Tell, job: Job, clock: FakeClock
) -> None:
    sender = job(alertmanager)
    tell(alertmanager, 1)
    sender.run()
    asked = receiver.asked
    clock.advance(59)
    sender.run()
    assert receiver.asked == asked
    clock.advance(1)
    sender.run()
    assert receiver.asked == asked + 1
    assert receiver.bodies[-1][0]["endsAt"] > receiver.bodies[0][0]["endsAt"]


def test_an_acknowledgement_resolves_and_its_withdrawal_fires_again(
    receiver: Receiver, webhook: AlertSettings, tell: Tell, job: Job, state: sqlite3.Connection
) -> None:
    number = tell(webhook, 1)
    give_feedback(state, webhook, number, ["ack"], T0)
    tell(webhook, 2, severity="critical")
    give_feedback(state, webhook, number, ["withdraw"], T0)
    job(webhook).run()
    assert [(body["status"], body["severity"]) for body in receiver.bodies] == [
        ("firing", "warning"),
        ("resolved", "warning"),
        ("firing", "critical"),
    ]


def test_what_is_acknowledged_stays_so_where_it_opens_again(
    receiver: Receiver,
    webhook: AlertSettings,
    tell: Tell,
    job: Job,
    state: sqlite3.Connection,
) -> None:
    number = tell(webhook, 1)
    give_feedback(state, webhook, number, ["ack"], T0)
    tell(webhook, 9, closed=True)
    tell(webhook, 99)
    tell(webhook, 99, closed=True, judged=1000)
    job(webhook).run()
    assert [body["status"] for body in receiver.bodies] == ["firing", "resolved"]


def test_a_suppression_resolves_what_it_mutes(
    receiver: Receiver, webhook: AlertSettings, tell: Tell, job: Job, state: sqlite3.Connection
) -> None:
    tell(webhook, 1)
    suppress(state, webhook, Suppression(host="gpu*", from_ns=T0, until_ns=None), T0)
    tell(webhook, 2, severity="critical")
    job(webhook).run()
    assert [body["status"] for body in receiver.bodies] == ["firing", "resolved"]
