"""One look at a host."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import psutil
import pytest

from hostsight.clock import FakeClock
from hostsight.errors import SettingsError
from hostsight.settings import AgentSettings, Settings
from ingest.inventory import take_inventory
from ingest.survey import Finding, SampleRow, sample_once, survey
from tests.unit.collectors.trees import Trees, write

STAT = "cpu  300 0 60 900 0 0 0 0 0 0\ncpu0 300 0 60 900 0 0 0 0 0 0\nctxt 777\nprocs_running 3\n"


def settings(root: Path) -> Settings:
    return Settings(agent=AgentSettings(root=str(root)))


def rows(root: Path) -> dict[str, SampleRow]:
    sampled = sample_once(settings(root), clock=FakeClock())
    return {f"{row.subsystem} {row.device} {row.metric}": row for row in sampled}


def test_a_captured_tree_gives_gauges_and_raw_counters(tmp_path: Path) -> None:
    found = rows(write(tmp_path, {"proc/stat": STAT}))
    running = found["cpu host runnable_tasks"]
    assert (running.value, running.unit, running.kind) == (3, "tasks", "gauge")
    switches = found["cpu host context_switches_per_s"]
    assert (switches.value, switches.unit, switches.kind) == (777, "switches", "counter")


def test_a_raw_share_of_time_is_time(tmp_path: Path) -> None:
    busy = rows(write(tmp_path, {"proc/stat": STAT}))["cpu host busy_percent"]
    assert (busy.unit, busy.kind) == ("s", "counter")
    assert busy.value == pytest.approx(3.6)


def test_a_captured_server_is_read_through_the_same_collectors(trees: Trees) -> None:
    found = rows(trees.dual_xeon)
    assert found["cpu cpu3 frequency_hertz"].value == 1_383_095_000
    assert found["cpu host forks_per_s"].value == 281_340_697
    assert {row.subsystem for row in found.values()} >= {"cpu", "memory", "interconnect", "storage"}
    assert all(math.isfinite(row.value) for row in found.values())


def test_a_live_host_gives_rates(clock: FakeClock) -> None:
    found = {f"{row.device} {row.metric}": row for row in sample_once(Settings(), clock=clock)}
    busy = found["host busy_percent"]
    assert (busy.unit, busy.kind) == ("%", "rate")
    assert busy.value >= 0
    assert found["host runnable_tasks"].value >= 1


def test_a_live_host_below_another_root_gives_rates_too(tmp_path: Path, clock: FakeClock) -> None:
    (tmp_path / "proc").symlink_to("/proc")
    sampled = sample_once(settings(tmp_path), clock=clock, interval=1)
    assert "counter" not in {row.kind for row in sampled}


def test_each_channel_is_shown_once(trees: Trees) -> None:
    sampled = sample_once(settings(trees.dual_xeon), clock=FakeClock())
    assert len({(row.subsystem, row.device, row.metric) for row in sampled}) == len(sampled)


def test_what_is_missing_is_named_with_reason_and_remedy(tmp_path: Path) -> None:
    found = survey(settings(write(tmp_path, {"proc/stat": STAT})))
    assert found.channels["cpu"] > 0
    assert found.channels["gpu"] == 0
    assert found.collectors["cpu"].state == "ok"
    assert found.collectors["memory"].state == "absent"
    assert Finding("cpu", "/proc/loadavg cannot be read", "not supported", "") in found.findings
    assert any("CONFIG_PSI" in finding.remedy for finding in found.findings)
    assert found.inventory is None


def test_what_two_collectors_lack_alike_is_said_once(tmp_path: Path) -> None:
    found = survey(settings(write(tmp_path, {"proc/stat": STAT}))).findings
    assert len(found) == len(set(found))
    assert sum("infiniband shows no port" in finding.what for finding in found) == 1


def test_a_collector_that_is_switched_off_is_left_out(tmp_path: Path) -> None:
    agent = AgentSettings(root=str(write(tmp_path, {"proc/stat": STAT})), disabled=("cpu",))
    assert sample_once(Settings(agent=agent), clock=FakeClock()) == []
    with pytest.raises(SettingsError, match="did you mean 'cpu'"):
        survey(Settings(agent=AgentSettings(disabled=("cpus",))))


def test_the_survey_of_this_machine_is_plain_json() -> None:
    found = survey(Settings())
    assert found.inventory is not None
    assert json.loads(msgspec.json.encode(found))["channels"]["cpu"] > 0


def test_the_inventory_knows_cpus_memory_and_the_loopback() -> None:
    inventory = take_inventory()
    assert inventory.cpus >= 1
    assert inventory.memory_bytes is not None
    assert inventory.memory_bytes > 2**26
    assert inventory.cpu_model
    assert all(nic.name and nic.mtu >= 0 for nic in inventory.nics)


def test_masked_files_cost_the_inventory_what_they_would_say_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"meminfo": "", "diskstats": "8 0\n", "stat": "", "cpuinfo": "", "vmstat": ""})
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))
    inventory = take_inventory()
    assert (inventory.memory_bytes, inventory.processes) == (None, 0)
    assert (inventory.disks, inventory.mounts) == ((), ())
    assert inventory.cpus >= 1
    assert inventory.kernel
