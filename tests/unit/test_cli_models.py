"""`models show` and `models rollback` on real models."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from cli.main import main
from hostsight.channel import Channel
from hostsight.clock import SECOND_NS, FakeClock
from hostsight.folders import DataFolder
from hostsight.settings import DetectSettings
from hostsight.timerange import TimeRange
from migrations import open_state
from models.baseline import fit_baseline
from models.protocol import WindowBlock
from models.regimes import Regime
from models.report import Drift, RefitReport
from models.store import ModelStore

WINDOWS = 60
T0 = 1_700_000_000 * SECOND_NS
REPORT = RefitReport(
    quarantined=12,
    compared_with="gpu01-older",
    held_back=200,
    flagged=0.005,
    live_flagged=0.02,
    drifted=1,
    drift=(
        Drift(
            subsystem="storage",
            device="vda",
            metric="write_bytes_per_s",
            unit="B/s",
            before=2e6,
            after=3e7,
            steps=4.25,
        ),
    ),
    appeared=("network eth1 rx_bytes_per_s",),
    vanished=("storage vdb busy_percent",),
)


@pytest.fixture
def models(data: DataFolder, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of two models of gpu01, the older first."""
    monkeypatch.setenv("HOSTSIGHT_DATA", str(data.root))
    metrics = ("busy_percent", "iowait_percent", "steal_percent")
    channels = [Channel("gpu01", "cpu", "host", metric, "rate", "%", 0.1, "/proc/stat") for metric in metrics]
    known = {channel.id: channel for channel in channels}
    values = np.random.default_rng(1).normal(20, 3, (WINDOWS, len(known), 5)).astype(np.float32)
    ends = T0 + SECOND_NS * np.arange(WINDOWS, dtype=np.int64)
    block = WindowBlock(ends, np.array(sorted(known), np.int64), values)
    baseline = fit_baseline(block, known, DetectSettings())
    connection = open_state(data.state_db)
    store = ModelStore(data, connection, clock=clock)
    names = []
    for reason in ("first", "second"):
        clock.advance(60)
        report = REPORT if reason == "second" else None
        span = TimeRange(T0, T0 + 60 * SECOND_NS)
        names.append(store.save("gpu01", baseline, trained=span, reason=reason, report=report))
    connection.execute("INSERT INTO watermarks VALUES ('materialise', 'gpu01', ?, ?)", (T0, T0))
    connection.close()
    return names


def states(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    assert main(["models", "list", "--json"]) == 0
    return {model["model"]: model["state"] for model in json.loads(capsys.readouterr().out)}


def test_rollback_returns_to_the_model_before(models: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    older, newer = models
    assert states(capsys) == {newer: "live", older: "retired"}
    assert main(["models", "rollback"]) == 0
    assert capsys.readouterr().err == f"live now: {older}\n"
    assert states(capsys) == {newer: "retired", older: "live"}
    assert main(["models", "rollback", newer]) == 0
    assert states(capsys) == {newer: "live", older: "retired"}


def test_show_names_what_the_model_works_on(models: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "show", models[0], "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["reason"], document["windows"]) == ("first", WINDOWS)
    assert document["trained_from"] == "2023-11-14T22:13:20.000Z"
    assert main(["models", "show", models[0]]) == 0
    text = capsys.readouterr().out
    assert "2023-11-14T22:13:20.000Z to 2023-11-14T22:14:20.000Z, 60 windows" in text
    assert "channels     3, none left out:\n  cpu busy_percent" in text
    assert "one regime: nothing in training is clearly apart from the rest" in text


def test_show_tells_the_regimes_apart(
    models: list[str], data: DataFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    connection = open_state(data.state_db)
    store = ModelStore(data, connection)
    known = (("cpu busy 4 %", 0.75, T0, T0 + 45 * SECOND_NS), ("cpu busy 75 %", 0.25, T0 + 45 * SECOND_NS, T0 + 60 * SECOND_NS))  # fmt: skip
    regimes = tuple(Regime(name=n, share=s, first_ns=f, last_ns=last) for n, s, f, last in known)
    baseline = store.load(models[1])
    split = replace(baseline.regimes, known=regimes)
    span = TimeRange(T0, T0 + 60 * SECOND_NS)
    name = store.save("gpu01", replace(baseline, regimes=split), trained=span, reason="third")
    connection.close()

    assert main(["models", "show", name]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "2 regimes, each with a usual level and spread of its own:" in lines
    assert "cpu busy 75 % 25 % 2023-11-14T22:14:05.000Z 2023-11-14T22:14:20.000Z" in lines
    assert main(["models", "show", name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["regimes"][0] == {
        "name": "cpu busy 4 %",
        "share": 0.75,
        "first_seen": "2023-11-14T22:13:20.000Z",
        "last_seen": "2023-11-14T22:14:05.000Z",
    }


def test_a_damaged_model_is_refused_by_name(
    models: list[str], data: DataFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    (data.models / models[0] / "arrays.npz").write_bytes(b"something else")
    assert main(["models", "rollback"]) == 1
    assert f"model {models[0]} is refused" in capsys.readouterr().err
    assert states(capsys)[models[1]] == "live"


def test_an_unknown_model_names_the_nearest(models: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "show", models[0] + "x"]) == 2
    assert f"did you mean '{models[0]}'?" in capsys.readouterr().err


def test_a_model_tells_what_its_refit_found(models: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    older, newer = models
    assert main(["models", "show", newer]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "left out 12 windows of episodes" in lines
    assert (
        "compared of the newest 200 windows a model of the rest flags 0.5 %, gpu01-older flagged 2 %" in lines
    )
    assert "since gpu01-older: 1 channel drifted" in lines
    assert "+4.25 storage vda write_bytes_per_s 2 MB/s 30 MB/s" in lines
    assert lines[-2:] == ["new network eth1 rx_bytes_per_s", "gone storage vdb busy_percent"]
    assert main(["models", "show", older, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"] is None
