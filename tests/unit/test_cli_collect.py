"""`sample` and `doctor`, which read the kernel's files and store nothing."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import pytest

from cli.main import main
from hostsight.channel import SUBSYSTEMS
from hostsight.folders import DataFolder
from ingest.collector import Host
from ingest.equipment import Device, Memory, update
from ingest.heartbeat import write_heartbeat
from tests.unit.test_heartbeat import BEAT

STAT = """cpu  400 0 200 1000 50 0 10 0 0 0
cpu0 200 0 100 500 25 0 5 0 0 0
cpu1 200 0 100 500 25 0 5 0 0 0
ctxt 123456
processes 789
procs_running 3
procs_blocked 1
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree that holds /proc/stat alone."""
    monkeypatch.setenv("HOSTSIGHT_DATA", str(tmp_path / "data"))
    (tmp_path / "tree" / "proc").mkdir(parents=True)
    (tmp_path / "tree" / "proc" / "stat").write_text(STAT)
    return tmp_path / "tree"


def test_sample_of_a_tree_gives_gauges_and_raw_counters(
    tree: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["sample", "--root", str(tree), "--json"]) == 0
    rows = {(row["device"], row["metric"]): row for row in json.loads(capsys.readouterr().out)}
    assert rows["host", "runnable_tasks"]["value"] == 3
    assert rows["host", "runnable_tasks"]["kind"] == "gauge"
    switches = rows["host", "context_switches_per_s"]
    assert (switches["value"], switches["kind"]) == (123456, "counter")
    assert "/s" not in switches["unit"]
    assert {key for row in rows.values() for key in row} == {
        "subsystem",
        "device",
        "metric",
        "value",
        "unit",
        "kind",
        "source",
    }
    assert not (tmp_path / "data").exists()


def test_sample_of_this_machine_gives_finite_rates(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sample", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["kind"] for row in rows} <= {"rate", "gauge", "state", "event"}
    assert all(math.isfinite(row["value"]) for row in rows)
    busy = [row["value"] for row in rows if (row["device"], row["metric"]) == ("host", "busy_percent")]
    assert len(busy) == 1


def test_sample_for_a_person_names_channel_value_unit_and_source(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["sample", "--root", str(tree)]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "runnable_tasks" in line]
    assert line.split()[:4] == ["cpu", "host", "runnable_tasks", "3"]
    assert "/proc/stat" in line


def test_doctor_counts_what_is_there_and_names_what_is_not(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--root", str(tree), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["channels"].keys() == set(SUBSYSTEMS) - {"agent"}
    assert document["channels"]["cpu"] > 0
    assert document["channels"]["storage"] == 0
    missing = [finding for finding in document["findings"] if finding["subsystem"] == "memory"]
    assert missing
    assert all(finding["reason"] for finding in missing)
    assert main(["doctor", "--root", str(tree)]) == 0
    assert "missing: memory " in capsys.readouterr().out


@pytest.mark.parametrize("command", ["sample", "doctor", "agent"])
def test_a_root_without_kernel_files_is_refused(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--root", str(tmp_path), "--data", str(tmp_path / "data")]) == 2
    assert f"{tmp_path} holds neither proc nor sys" in capsys.readouterr().err


def test_a_root_that_may_not_be_read_is_refused(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path) -> bool:
        if path.name in {"proc", "sys"}:
            raise PermissionError(13, "Permission denied", str(path))
        return path.exists()

    monkeypatch.setattr(Path, "is_dir", refused)
    assert main(["sample", "--root", str(tree)]) == 2
    assert f"{tree} cannot be read (Permission denied); mend its rights" in capsys.readouterr().err


def test_a_wrong_setting_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOSTSIGHT_AGENT_DISABLED", "numma")
    assert main(["agent", "--data", str(tmp_path / "data")]) == 2
    assert "did you mean 'numa'?" in capsys.readouterr().err


def test_doctor_names_what_is_missing_under_its_subsystem(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--root", str(tree)]) == 0
    lines = capsys.readouterr().out.splitlines()
    places = [
        next(at for at, text in enumerate(lines) if text.startswith(f"{name} "))
        for name in ("cpu", "gpu", "memory")
    ]
    assert places == sorted(places)
    assert any("/proc/loadavg" in text for text in lines[places[0] : places[1]])
    assert any("/proc/meminfo" in text for text in lines[places[2] :])


def test_doctor_judges_the_telemetry_first(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = DataFolder(tmp_path / "data").create()
    write_heartbeat(data, msgspec.structs.replace(BEAT, ticks=1_000, late_ticks=50))
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert text.index("50 ticks were skipped (4.8 %)") < text.index("cpu ")
    assert main(["doctor", "--json"]) == 0
    quality = json.loads(capsys.readouterr().out)["quality"]
    assert (quality["ticks"], quality["late_ticks"]) == (1_000, 50)


def test_doctor_expects_a_device_until_it_is_told_to_forget_it(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = DataFolder(tmp_path / "data").create()
    Memory(data.equipment, Host(tree)).save(update({}, frozenset({Device("nic", "eth7")}), 1))
    assert main(["doctor", "--root", str(tree)]) == 0
    assert "network interface eth7: was there before and is gone" in capsys.readouterr().out
    assert main(["doctor", "--root", str(tree), "--forget", "eth7"]) == 0
    assert main(["doctor", "--root", str(tree)]) == 0
    assert "eth7" not in capsys.readouterr().out
    assert main(["doctor", "--root", str(tree), "--forget", "eth7"]) == 2


def test_doctor_of_a_tree_says_nothing_of_this_hosts_telemetry(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--root", str(tree)]) == 0
    assert "telemetry" not in capsys.readouterr().out


def test_doctor_tells_once_what_enables_several(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--root", str(tree)]) == 0
    lines = capsys.readouterr().out.splitlines()
    what = "/proc/pressure/cpu, /proc/pressure/memory, /proc/pressure/io: not supported"
    at = lines.index(f"  missing: {what}")
    assert lines[at + 1].startswith("    to enable them: boot a kernel built with CONFIG_PSI")
    assert len([line for line in lines if line.endswith("psi=1 on its command line")]) == 1


def test_doctor_folds_between_words_on_a_narrow_terminal(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["doctor", "--root", str(tree)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  missing: /sys/devices/system/cpu shows no thermal_throttle (Intel processors" in lines
    assert "    have it, virtual machines have not): no such device" in lines
