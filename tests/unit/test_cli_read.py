"""Commands that read a data folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.main import main
from hostsight.clock import SECOND_NS
from hostsight.files import locked
from hostsight.folders import DataFolder
from migrations import open_state

T0 = 1_700_000_000 * SECOND_NS
ALL = "2023-01-01..2024-01-01"


@pytest.fixture
def folder(data: DataFolder, monkeypatch: pytest.MonkeyPatch) -> DataFolder:
    """Two hosts; an open and a closed episode of the one, a model of each."""
    monkeypatch.setenv("HOSTSIGHT_DATA", str(data.root))
    connection = open_state(data.state_db)
    for host in ("gpu01", "gpu02"):
        connection.execute("INSERT INTO watermarks VALUES ('materialise', ?, ?, ?)", (host, T0, T0))
        connection.execute(
            "INSERT INTO models VALUES (?, ?, 'live', ?, ?, ?, 58, 300, 120, 'first')",
            (f"{host}-m1", host, T0, T0 - 60 * SECOND_NS, T0),
        )
    insert = """INSERT INTO episodes (id, host, state, opened_ns, last_seen_ns, closed_ns, severity, score, confidence, subsystem,
        device, metric, cause, summary, model, visible_ns) VALUES (?, 'gpu01', ?, ?, ?, ?, ?, 9.5, 0.75, 'cpu', 'host', 'busy_percent',
        NULL, ?, 'gpu01-m1', ?)"""
    closed = (1, "closed", T0, T0 + 100 * SECOND_NS, T0 + 130 * SECOND_NS, "warning", "cpu: busy is 60 %", T0)
    opened = (2, "open", T0 + 200 * SECOND_NS, T0 + 205 * SECOND_NS, None, "critical", "[b]cpu\x1b[2J", T0)
    connection.executemany(insert, [closed, opened])
    attribution = (
        "INSERT INTO attributions VALUES (1, ?, ?, 'cpu', ?, 'busy_percent', ?, 4.0, ?, '%', 'high')"
    )
    connection.executemany(attribution, [(1, 2**62, "cpu0", 0.75, 97.0), (2, 7, "cpu1", 0.25, None)])
    connection.execute("INSERT INTO episode_detectors VALUES (1, 'mahalanobis', 1e-5, 0.01)")
    connection.close()
    return data


def out(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(words) == 0
    return capsys.readouterr().out


def test_anomalies_are_newest_first_in_the_contract_s_shape(
    folder: DataFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    newest, oldest = json.loads(out(["anomalies", "--since", ALL, "--json"], capsys))
    assert newest["id"] == 2
    assert oldest == {
        "id": 1,
        "host": "gpu01",
        "state": "closed",
        "opened": "2023-11-14T22:13:20.000Z",
        "last_seen": "2023-11-14T22:15:00.000Z",
        "closed": "2023-11-14T22:15:30.000Z",
        "severity": "warning",
        "score": 9.5,
        "confidence": 0.75,
        "subsystem": "cpu",
        "device": "host",
        "metric": "busy_percent",
        "cause": None,
        "cause_from": None,
        "regime": None,
        "acknowledged": None,
        "suppressed_by": None,
        "false_alarm_like": None,
        "summary": "cpu: busy is 60 %",
    }


def test_anomalies_as_a_table_tell_how_long_and_show_data_literally(
    folder: DataFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = out(["anomalies", "--since", ALL], capsys).splitlines()
    assert lines[2].split()[:4] == ["2", "gpu01", "■", "critical"]
    assert r"5s, open" in lines[2]
    assert r"[b]cpu\x1b[2J" in lines[2]
    assert "1m40s" in lines[3]


def test_anomalies_outside_the_time_are_left_out_but_open_ones_go_on(
    folder: DataFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    later = json.loads(out(["anomalies", "--since", "2024-01-01..2024-02-01", "--json"], capsys))
    assert [episode["id"] for episode in later] == [2]


def test_no_anomalies_is_an_empty_document_and_a_word_on_stderr(
    folder: DataFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["anomalies", "--since", ALL, "--host", "gpu02"]
    assert json.loads(out([*words, "--json"], capsys)) == []
    assert main(words) == 0
    assert capsys.readouterr() == (
        "",
        "no episodes in that time; `hostsight status` says whether it was judged, or is still learnt from\n",
    )


def test_an_unknown_host_is_told_which_there_are(
    folder: DataFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["anomalies", "--host", "gpu03"]) == 2
    assert "known hosts: gpu01, gpu02" in capsys.readouterr().err


def test_explain_as_json(folder: DataFolder, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(out(["explain", "1", "--json"], capsys))
    assert [item["share"] for item in document["attribution"]] == [0.75, 0.25]
    assert document["attribution"][0] == {
        "channel_id": "4611686018427387904",
        "subsystem": "cpu",
        "device": "cpu0",
        "metric": "busy_percent",
        "share": 0.75,
        "expected": 4.0,
        "actual": 97.0,
        "unit": "%",
        "direction": "high",
    }
    assert document["detectors"] == [{"name": "mahalanobis", "tail_probability": 1e-5, "threshold": 0.01}]
    assert document["model"] == "gpu01-m1"


def test_explain_for_a_person(folder: DataFolder, capsys: pytest.CaptureFixture[str]) -> None:
    text = out(["explain", "1"], capsys)
    assert "episode 1 on gpu01: cpu: busy is 60 %" in text
    assert "75 %" in text
    assert "97 %" in text
    assert "unknown" in text
    assert "from 2023-11-14T22:13:20.000Z to 2023-11-14T22:15:00.000Z" in text


def test_an_unknown_episode_names_the_way_to_those_there_are(
    folder: DataFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "99"]) == 2
    assert "no episode 99 here; `hostsight anomalies` lists" in capsys.readouterr().err


def test_models_list(folder: DataFolder, capsys: pytest.CaptureFixture[str]) -> None:
    (model,) = json.loads(out(["models", "list", "--host", "gpu02", "--json"], capsys))
    assert (model["model"], model["state"], model["windows"]) == ("gpu02-m1", "live", 58)
    assert "120 of 300" in out(["models", "list"], capsys)


def test_models_rollback_must_know_whose(folder: DataFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "rollback"]) == 2
    assert "--host; known hosts: gpu01, gpu02" in capsys.readouterr().err
    assert main(["models", "rollback", "--host", "gpu01"]) == 2
    assert "no earlier model" in capsys.readouterr().err


def test_refit_of_a_host_without_windows_fails_with_the_reason(
    folder: DataFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["refit", "--host", "gpu01"]) == 1
    assert "too few" in capsys.readouterr().err
    connection = open_state(folder.state_db, read_only=True)
    assert [row["state"] for row in connection.execute("SELECT state FROM job_runs")] == ["failed"]
    connection.close()


def test_refit_asks_the_jobs_that_run(folder: DataFolder, capsys: pytest.CaptureFixture[str]) -> None:
    with locked(folder.run / "serve.lock", "a pipeline"):
        assert main(["refit", "--no-wait"]) == 0
    assert "asked the running jobs to refit gpu01, gpu02" in capsys.readouterr().err
    connection = open_state(folder.state_db, read_only=True)
    asked = [tuple(row) for row in connection.execute("SELECT job, host FROM requests ORDER BY host")]
    connection.close()
    assert asked == [("refit", "gpu01"), ("refit", "gpu02")]


def test_refit_does_not_wait_for_jobs_that_have_died(
    folder: DataFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    with locked(folder.run / "serve.lock", "a pipeline"):
        assert main(["refit", "--host", "gpu01"]) == 3
    assert "they refit as soon as `hostsight serve` runs again" in capsys.readouterr().err


def test_status_of_a_folder_where_nothing_runs_says_so(
    folder: DataFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(out(["status", "--json"], capsys))
    assert document["agent"]["running"] is False
    assert [host["host"] for host in document["hosts"]] == ["gpu01", "gpu02"]
    text = out(["status"], capsys)
    assert "agent    not running" in text
    assert "problem: no agent has run on this data folder; start `hostsight agent`" in text


@pytest.mark.parametrize("words", [["status"], ["anomalies"], ["explain", "1"], ["sql", "SELECT 1"], ["models", "list"], ["refit"]])  # fmt: skip
def test_a_folder_without_telemetry_is_unavailable_and_stays_untouched(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty"
    assert main([*words, "--data", str(empty)]) == 3
    assert f"{empty} holds no " in capsys.readouterr().err
    assert not empty.exists()


@pytest.mark.parametrize(("words", "expected"), [(["explain", ""], ["2", "1"]), (["refit", "--host", "gpu"], ["gpu01", "gpu02"]), (["models", "show", "gpu02"], ["gpu02-m1"])])  # fmt: skip
def test_the_shell_completes_what_the_folder_holds(
    words: list[str],
    expected: list[str],
    folder: DataFolder,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("_HOSTSIGHT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", " ".join(["hostsight", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    with pytest.raises(SystemExit):
        main([])
    assert capsys.readouterr().out.splitlines() == [f"plain,{word}" for word in expected]
