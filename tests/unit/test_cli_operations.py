"""`feedback`, `suppress`, and what `anomalies`, `explain` and `status` show of them."""

from __future__ import annotations

import json

import pytest

from cli.main import main
from hostsight.clock import SECOND_NS
from hostsight.folders import DataFolder
from migrations import open_state

T0 = 1_700_000_000 * SECOND_NS
ALL = "2023-01-01..2024-01-01"


@pytest.fixture
def folder(data: DataFolder, monkeypatch: pytest.MonkeyPatch) -> DataFolder:
    """Two open episodes of one host: busy CPUs, and a full disk."""
    monkeypatch.setenv("HOSTSIGHT_DATA", str(data.root))
    connection = open_state(data.state_db)
    connection.execute("INSERT INTO watermarks VALUES ('materialise', 'gpu01', ?, ?)", (T0, T0))
    connection.execute("INSERT INTO models VALUES ('m1', 'gpu01', 'live', 1, 0, 1, 178, 20, 20, 'test')")
    insert = """INSERT INTO episodes VALUES (?, 'gpu01', 'open', ?, ?, NULL, 'warning', 9.5, 0.75, ?, 'host', ?, NULL,
        ?, 'm1', 1, NULL, NULL, NULL, NULL, '')"""
    for number, subsystem, metric in ((1, "cpu", "busy_percent"), (2, "storage", "used_percent")):
        connection.execute(insert, (number, T0, T0, subsystem, metric, f"{subsystem}: something"))
        connection.execute(
            "INSERT INTO attributions VALUES (?, 1, ?, ?, 'host', ?, 1.0, 4.0, 97.0, '%', 'high')",
            (number, number, subsystem, metric),
        )
    connection.close()
    return data


def run(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    assert main(words) == 0
    found = capsys.readouterr()
    return found.out, found.err


def listed(words: list[str], capsys: pytest.CaptureFixture[str]) -> list[int]:
    out, _ = run(["anomalies", "--since", ALL, "--json", *words], capsys)
    return [one["id"] for one in json.loads(out)]


def test_feedback_is_shown_with_the_episode(folder: DataFolder, capsys: pytest.CaptureFixture[str]) -> None:
    run(["feedback", "1", "ack", "cause=stray-build"], capsys)
    assert (
        "[acknowledged] [cause stray-build] cpu: something" in run(["anomalies", "--since", ALL], capsys)[0]
    )
    out, _ = run(["explain", "1"], capsys)
    assert "acknowledged at 2" in out
    assert "cause: stray-build\n" in out
    run(["feedback", "1", "unack"], capsys)
    found = json.loads(run(["explain", "1", "--json"], capsys)[0])
    assert (found["acknowledged"], found["cause"], found["cause_from"]) == (None, "stray-build", 1)


def test_a_false_alarm_is_left_out_of_the_list_unless_asked_for(
    folder: DataFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["feedback", "1", "false-alarm"], capsys)
    assert listed([], capsys) == [2]
    assert sorted(listed(["--muted"], capsys)) == [1, 2]
    assert "1 muted episode left out; --muted shows" in run(["anomalies", "--since", ALL], capsys)[1]
    assert "muted as a false alarm\n" in run(["explain", "1"], capsys)[0]
    assert json.loads(run(["status", "--json"], capsys)[0])["hosts"][0]["open_episodes"] == 1
    run(["feedback", "1", "withdraw"], capsys)
    assert sorted(listed([], capsys)) == [1, 2]


def test_all_or_nothing_of_a_feedback_holds(folder: DataFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["feedback", "1", "false-alarm", "cause=Not A Name"]) == 2
    assert "'Not A Name' cannot name a cause" in capsys.readouterr().err
    assert sorted(listed([], capsys)) == [1, 2]


@pytest.mark.parametrize("command", ["up", "serve"])
def test_an_address_that_is_none_is_refused_before_anything_starts(
    data: DataFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("HOSTSIGHT_ALERTS_WEBHOOK", "file:///etc/passwd")
    assert main([command, "--data", str(data.root)]) == 2
    assert "[alerts] webhook is no http or https address; write one such as" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["feedback", "9", "ack"], "there is no episode 9 here"),
        (["feedback", "1", "akc"], "'akc' is no feedback"),
        (["suppress", "add"], "keep everything quiet for ever"),
        (["suppress", "add", "--subsystem", "memry"], "did you mean 'memory'"),
        (["suppress", "add", "--for", "1h", "--during", "2026-01-01..2026-01-02"], "give one of them"),
        (["suppress", "add", "--during", "2026-01-02..2026-01-01"], "before it starts"),
        (["suppress", "add", "--during", "1h"], "is no time span"),
        (["suppress", "end", "4"], "no suppression 4 that could be ended"),
        (["suppress", "end", str(2**63)], "is not in the range"),
        (["suppress", "end", "all"], "'all' is not a valid number"),
        (["feedback", str(2**63), "ack"], "is not in the range"),
        (["feedback", "1"], "Missing argument 'WORD...'"),
        (["explain", "one"], "'one' is not a valid number"),
    ],
)
def test_what_makes_no_sense_is_a_sentence(
    folder: DataFolder, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    assert main(words) == 2
    assert sentence in capsys.readouterr().err


def test_a_rule_for_a_span_mutes_until_it_is_ended(
    folder: DataFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    span = ["--during", "2023-11-14T00:00:00Z..2099-01-01T00:00:00Z"]
    _, said = run(["suppress", "add", "--subsystem", "cp?", *span, "--reason", "tests"], capsys)
    assert "suppression 1 is added; `hostsight suppress end 1` ends it" in said
    assert listed([], capsys) == [2]
    (rule,) = json.loads(run(["suppress", "list", "--json"], capsys)[0])
    assert (rule["id"], rule["host"], rule["subsystem"], rule["reason"]) == (1, "*", "cp?", "tests")
    assert (rule["from"], rule["until"]) == ("2023-11-14T00:00:00.000Z", "2099-01-01T00:00:00.000Z")
    assert "muted by suppression 1" in run(["explain", "1"], capsys)[0]

    run(["suppress", "end", "1"], capsys)
    assert "nothing is suppressed" in run(["suppress", "list"], capsys)[1]
    out, _ = run(["suppress", "list", "--all"], capsys)
    assert "tests" in out


def test_a_rule_for_a_span_that_is_over_says_so(
    folder: DataFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    _, said = run(["suppress", "add", "--during", "2023-11-14..2023-11-15"], capsys)
    assert "suppression 1 is added; its time is over" in said


def test_a_maintenance_of_all_hosts_needs_only_a_time(
    folder: DataFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["suppress", "add", "--for", "2h"], capsys)
    (rule,) = json.loads(run(["suppress", "list", "--json"], capsys)[0])
    assert (rule["host"], rule["subsystem"], rule["device"], rule["metric"]) == ("*", "*", "*", "*")


def test_status_says_what_becomes_of_alerts(
    folder: DataFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOSTSIGHT_ALERTS_WEBHOOK", "http://127.0.0.1:9/hook")
    run(["suppress", "add", "--host", "other"], capsys)
    out, _ = run(["status"], capsys)
    assert "alerts   webhook: 0 sent, 2 waiting" in out
