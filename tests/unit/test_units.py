"""The systemd units: what they start exists, both share one folder, and every right has its reason."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cli.main import ENTRIES

UNITS = Path(__file__).resolve().parents[2] / "packaging" / "systemd"
FILES = sorted(UNITS.rglob("*.service")) + sorted(UNITS.rglob("*.conf"))


def lines(path: Path) -> list[tuple[str, str]]:
    pairs = [
        line.partition("=") for line in path.read_text("utf-8").splitlines() if re.match(r"[A-Z]\w+=", line)
    ]
    return [(key, value) for key, _, value in pairs]


def values(name: str, key: str) -> list[str]:
    return [value for found, value in lines(UNITS / name) if found == key]


def test_they_start_commands_that_there_are() -> None:
    for name, command in {"hostsight-agent.service": "agent", "hostsight-serve.service": "serve"}.items():
        assert values(name, "ExecStart") == [f"/opt/hostsight/bin/hostsight {command}"]
        assert command in ENTRIES


def test_both_are_one_user_with_one_private_folder() -> None:
    for key, value in {
        "User": "hostsight",
        "StateDirectory": "hostsight",
        "StateDirectoryMode": "0700",
        "Environment": "HOSTSIGHT_DATA=/var/lib/hostsight",
        "NoNewPrivileges": "yes",
        "ProtectSystem": "strict",
    }.items():
        assert values("hostsight-agent.service", key) == values("hostsight-serve.service", key) == [value]


def test_the_agent_has_one_capability_and_the_jobs_have_none() -> None:
    assert values("hostsight-agent.service", "AmbientCapabilities") == ["CAP_PERFMON"]
    assert values("hostsight-agent.service", "CapabilityBoundingSet") == ["CAP_PERFMON"]
    assert values("hostsight-serve.service", "CapabilityBoundingSet") == [""]
    assert values("hostsight-serve.service", "AmbientCapabilities") == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_right_that_is_given_has_a_reason_above_it(path: Path) -> None:
    text = path.read_text("utf-8")
    for block in re.split(r"\n(?=#)|\n\n", text):
        given = re.search(r"^(AmbientCapabilities|DeviceAllow|SystemCallFilter)=\S", block, re.MULTILINE)
        assert not given or block.startswith("#") or "SystemCallFilter=@system-service\n" in f"{block}\n", (
            block
        )


def test_what_they_grant_is_in_the_installation_guide() -> None:
    guide = (UNITS.parents[1] / "docs/install.md").read_text("utf-8")
    granted = {word for path in FILES for word in re.findall(r"CAP_\w+", path.read_text("utf-8"))}
    assert granted == set(re.findall(r"CAP_\w+", guide))


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
@pytest.mark.parametrize("name", ["hostsight-agent.service", "hostsight-serve.service"])
def test_systemd_understands_every_line(name: str, tmp_path: Path) -> None:
    unit = tmp_path / name
    unit.write_text((UNITS / name).read_text("utf-8").replace("/opt/hostsight/bin/hostsight", "/bin/true"))
    if name == "hostsight-agent.service":
        shutil.copytree(UNITS / f"{name}.d", tmp_path / f"{name}.d")
    result = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert [line for line in result.stderr.splitlines() if name in line] == []
