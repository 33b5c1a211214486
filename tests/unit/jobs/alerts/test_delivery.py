"""How messages reach a receiver that is away, slow, refuses, or must be shown a token."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import msgspec
import pytest

from hostsight.clock import FakeClock
from hostsight.errors import SettingsError
from hostsight.settings import AlertSettings, Duration
from jobs.alert_status import alert_problems, read_alerts
from jobs.receivers import check_outward
from tests.unit.jobs.alerts.conftest import OVER, Job, Tell
from tests.unit.jobs.alerts.receiver import Receiver


def test_while_the_receiver_is_away_messages_wait_in_order_and_arrive_once(
    receiver: Receiver,
    webhook: AlertSettings,
    tell: Tell,
    job: Job,
    state: sqlite3.Connection,
) -> None:
    receiver.status, receiver.words = 503, "down for\nrepair"
    sender = job(webhook)
    tell(webhook, 1)
    tell(webhook, 9, closed=True, judged=OVER)
    assert sender.run() == 0
    (found,) = read_alerts(state, webhook)
    assert (found.waiting, found.sent) == (2, 0)
    (problem,) = alert_problems([found])
    assert "2 alerts wait for the webhook: http://127.0.0.1" in problem
    assert "answers 503 Service Unavailable: down for repair" in problem
    assert "s3cret" not in problem

    receiver.status = 200
    assert job(webhook).run() == 2, "a restarted job carries on"
    assert [body["status"] for body in receiver.bodies] == ["firing", "resolved"]
    assert list(alert_problems(read_alerts(state, webhook))) == []


def test_the_waits_between_tries_double(
    receiver: Receiver, webhook: AlertSettings, tell: Tell, job: Job, clock: FakeClock
) -> None:
    receiver.status = 500
    sender = job(webhook)
    tell(webhook, 1)
    tries = []
    for second in range(16):
        before = receiver.asked
        sender.run()
        tries += [second] * (receiver.asked - before)
        clock.advance(1)
    assert tries == [0, 1, 3, 7, 15]


def test_a_receiver_that_is_away_for_days_is_still_tried_every_five_minutes(
    receiver: Receiver, webhook: AlertSettings, tell: Tell, job: Job, clock: FakeClock
) -> None:
    receiver.status = 500
    sender = job(webhook)
    tell(webhook, 1)
    for _ in range(1_100):
        sender.run()
        clock.advance(300)
    assert receiver.asked == 1_100
    receiver.status = 200
    assert sender.run() == 1


def test_after_an_hour_without_a_receiver_all_arrives_in_order_within_five_minutes(
    receiver: Receiver, webhook: AlertSettings, tell: Tell, job: Job, clock: FakeClock
) -> None:
    receiver.status = 500
    sender = job(webhook)
    for severity in ("warning", "critical"):
        tell(webhook, 1, severity=severity)
    for _ in range(3600):
        sender.run()
        clock.advance(1)
    assert receiver.asked == 9 + 11, "after 0, 1, 3, 7 ... 255 seconds, then every five minutes"
    tell(webhook, 9, severity="critical", closed=True, judged=OVER)
    receiver.status = 200
    clock.advance(300)
    assert sender.run() == 3
    assert [(body["status"], body["severity"]) for body in receiver.bodies] == [
        ("firing", "warning"),
        ("firing", "critical"),
        ("resolved", "critical"),
    ]


@pytest.fixture
def nowhere(webhook: AlertSettings) -> AlertSettings:
    """A webhook where nobody listens."""
    return msgspec.structs.replace(webhook, webhook="http://127.0.0.1:9/hook")


def test_a_receiver_that_hangs_is_given_up_and_tried_again(
    receiver: Receiver, webhook: AlertSettings, tell: Tell, job: Job, state: sqlite3.Connection
) -> None:
    receiver.hangs = True
    hurried = msgspec.structs.replace(webhook, timeout=Duration(0.05))
    tell(hurried, 1)
    assert job(hurried).run() == 0
    (problem,) = alert_problems(read_alerts(state, hurried))
    assert problem.startswith("1 alert waits for the webhook: http://127.0.0.1")
    assert "cannot be reached: timed out; " in problem
    receiver.hangs = False
    assert job(webhook).run() == 1


def test_an_answer_whose_body_never_comes_counts_by_its_status(
    receiver: Receiver, webhook: AlertSettings, tell: Tell, job: Job, state: sqlite3.Connection
) -> None:
    receiver.stalls = True
    hurried = msgspec.structs.replace(webhook, timeout=Duration(0.05))
    tell(hurried, 1)
    assert job(hurried).run() == 1
    receiver.status = 500
    tell(hurried, 2, severity="critical")
    assert job(hurried).run() == 0
    (found,) = read_alerts(state, hurried)
    assert (found.sent, found.waiting) == (1, 1)
    assert str(found.error).endswith("answers 500 Internal Server Error")


def test_an_outage_is_told_once_with_who_is_away(
    nowhere: AlertSettings, tell: Tell, job: Job, clock: FakeClock, capsys: pytest.CaptureFixture[str]
) -> None:
    tell(nowhere, 1)
    sender = job(nowhere)
    sender.run()
    clock.advance(1)
    sender.run()
    said = "hostsight serve: alerts wait for the webhook: http://127.0.0.1:9 cannot be reached: Connection refused; they are sent once it answers\n"
    assert capsys.readouterr().err == said


def test_what_is_refused_for_good_does_not_hold_up_the_rest(
    receiver: Receiver,
    webhook: AlertSettings,
    tell: Tell,
    job: Job,
    state: sqlite3.Connection,
) -> None:
    receiver.status, receiver.words = 404, "no such hook"
    tell(webhook, 1)
    job(webhook).run()
    receiver.status = 200
    tell(webhook, 9, closed=True, judged=OVER)
    assert job(webhook).run() == 1
    (found,) = read_alerts(state, webhook)
    assert (found.sent, found.refused) == (1, 1)
    assert "404 Not Found: no such hook" in next(alert_problems([found]))


def test_a_redirect_is_refused_for_it_would_lose_the_body(
    receiver: Receiver, webhook: AlertSettings, tell: Tell, job: Job, state: sqlite3.Connection
) -> None:
    receiver.status = 302
    tell(webhook, 1)
    assert job(webhook).run() == 0
    assert (receiver.asked, read_alerts(state, webhook)[0].refused) == (1, 1)


def test_nobody_listening_is_tried_again(
    nowhere: AlertSettings, tell: Tell, job: Job, state: sqlite3.Connection
) -> None:
    tell(nowhere, 1)
    assert job(nowhere).run() == 0
    (found,) = read_alerts(state, nowhere)
    assert found.waiting == 1
    assert "http://127.0.0.1:9 cannot be reached: " in (found.error or "")


def test_an_outage_that_only_reminders_saw_is_over_with_the_next_reminder(
    receiver: Receiver, alertmanager: AlertSettings, tell: Tell, job: Job, clock: FakeClock
) -> None:
    """Otherwise the next one would be waited for like a long one, and be told nobody."""
    sender = job(alertmanager)
    tell(alertmanager, 1)
    sender.run()
    for _ in range(10):
        receiver.status = 503
        clock.advance(60)
        sender.run()
        receiver.status = 200
        clock.advance(60)
        sender.run()
    assert receiver.asked == 1 + 2 * 10


def test_a_token_goes_with_each_message(
    receiver: Receiver, webhook: AlertSettings, tell: Tell, job: Job, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("abc\n")
    settings = msgspec.structs.replace(webhook, token_file=str(tmp_path / "token"))
    tell(settings, 1)
    job(settings).run()
    assert receiver.told[0][1]["Authorization"] == "Bearer abc"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (AlertSettings(webhook="file:///etc/passwd"), r"\[alerts\] webhook is no http or https address"),
        (AlertSettings(alertmanager="localhost:9093"), "alertmanager is no http or https address"),
        (AlertSettings(webhook="http://[::1/"), "webhook is no http or https address"),
        (AlertSettings(webhook="http://me:secret@a/"), "a token into \\[alerts\\] token_file"),
        (AlertSettings(webhook="http://a:port/"), "webhook is no http or https address"),
        (AlertSettings(webhook="http://a..b/"), "webhook is no http or https address"),
        (AlertSettings(webhook="http://a/two words"), "webhook is no http or https address"),
        (AlertSettings(webhook="http://a/", token_file="/nowhere/token"), "token_file = /nowhere/token cannot"),
        (AlertSettings(textfile="/nowhere/hostsight.prom"), "must end in .prom and lie in a folder that exists"),
        (AlertSettings(textfile="/tmp/hostsight.txt"), "must end in .prom"),
    ],
)  # fmt: skip
def test_settings_that_can_never_serve_are_refused(settings: AlertSettings, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        check_outward(settings)


@pytest.mark.parametrize("text", ["s3cret\nof the receiver", "s3cr\u00e9t"])
def test_a_token_that_no_header_can_hold_is_refused_without_showing_it(tmp_path: Path, text: str) -> None:
    file = tmp_path / "token"
    file.write_text(text, "utf-8")
    with pytest.raises(SettingsError, match="holds more than a token") as refused:
        check_outward(AlertSettings(webhook="http://a/", token_file=str(file)))
    assert "s3cr" not in str(refused.value)


def test_without_a_receiver_nothing_is_queued(tell: Tell, state: sqlite3.Connection) -> None:
    tell(AlertSettings(), 1)
    assert state.execute("SELECT count(*) FROM alerts").fetchone()[0] == 0


def test_the_outbox_keeps_the_episode_as_it_was(
    webhook: AlertSettings, tell: Tell, state: sqlite3.Connection
) -> None:
    tell(webhook, 1)
    tell(webhook, 5)
    (row,) = state.execute("SELECT body FROM alerts").fetchall()
    assert json.loads(row["body"])["last_seen"] == "2023-11-14T22:13:21.000Z"
