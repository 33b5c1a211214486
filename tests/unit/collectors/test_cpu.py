"""CPU time, counts and load against numbers read from the files by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostsight.errors import NoDataError
from ingest.collector import Host
from ingest.collectors.cpu import CpuCollector, LoadCollector
from tests.unit.collectors.trees import Trees, read, write

STAT = """\
cpu  300 0 60 900 30 6 3 12 50 0
cpu0 100 0 20 300 10 2 1 4 50 0
cpu1 200 0 40 600 20 4 2 8 0 0
intr 12345 0 7 0
ctxt 777
btime 1
processes 55
procs_running 3
procs_blocked 2
softirq 99 1 2
"""


@pytest.fixture(scope="module")
def server(trees: Trees) -> dict[str, float]:
    """cpu0 of this one: 2096140 8641 2667036 1160490914 45338 117424 328424 0 0 0, in hundredths of a second."""
    return read(CpuCollector(), trees.dual_xeon)


@pytest.mark.parametrize(
    ("metric", "seconds"),
    [
        ("user_percent", 20_961.40),
        ("system_percent", 26_670.36),
        ("iowait_percent", 453.38),
        ("irq_percent", 1_174.24),
        ("softirq_percent", 3_284.24),
        ("steal_percent", 0),
        ("busy_percent", 20_961.40 + 86.41 + 26_670.36 + 1_174.24 + 3_284.24),
    ],
)
def test_times_of_one_cpu(server: dict[str, float], metric: str, seconds: float) -> None:
    assert server[f"cpu cpu0 {metric}"] == pytest.approx(100 * seconds)


def test_the_host_is_the_mean_of_its_cpus(server: dict[str, float]) -> None:
    cpus = [server[f"cpu cpu{cpu} system_percent"] for cpu in range(40)]
    assert server["cpu host system_percent"] == pytest.approx(np.mean(cpus))
    assert server["cpu host system_percent"] == pytest.approx(91_649_750 / 40, rel=1e-6)
    assert server["cpu host idle_percent"] == pytest.approx(46_497_356_509 / 40, rel=1e-6)
    assert server["cpu host nice_percent"] == pytest.approx(1_803_182 / 40, rel=1e-4)


def test_counts_of_the_host(server: dict[str, float]) -> None:
    assert server["cpu host context_switches_per_s"] == 12_321_263_180
    assert server["cpu host forks_per_s"] == 281_340_697
    assert server["cpu host runnable_tasks"] == 1
    assert server["cpu host blocked_tasks"] == 0


def test_more_cpus_than_the_limit_are_summed_by_node(trees: Trees) -> None:
    values = read(CpuCollector(), trees.dual_xeon, per_cpu=39)
    assert "cpu cpu0 busy_percent" not in values
    both = values["cpu node0 busy_percent"] + values["cpu node1 busy_percent"]
    assert both / 2 == pytest.approx(values["cpu host busy_percent"])
    assert values["cpu node0 busy_percent"] != pytest.approx(values["cpu node1 busy_percent"])


def test_single_cpus_that_are_left_out_are_told(tmp_path: Path) -> None:
    collector = CpuCollector()
    collector.open(Host(write(tmp_path, {"proc/stat": STAT}), per_cpu_limit=1))
    what = "values of single CPUs, of which there are 2"
    assert collector.absent() == [(what, "over the limit", "raise [agent] per_cpu_limit")]
    collector.open(Host(tmp_path, per_cpu_limit=2))
    assert list(collector.absent()) == []


def test_480_cpus_of_a_kernel_without_guest_nice(trees: Trees) -> None:
    values = read(CpuCollector(), trees.tar("xeon-e7-480cpu"), per_cpu=480)
    assert values["cpu cpu0 user_percent"] == 516
    assert values["cpu cpu0 system_percent"] == 21_355
    assert values["cpu cpu479 system_percent"] == 9
    assert values["cpu host idle_percent"] == pytest.approx(869_208_946 / 480, rel=1e-4)
    assert values["cpu host context_switches_per_s"] == 18_908_765
    assert values["cpu host runnable_tasks"] == 2


def test_guests_are_apart_from_user_but_busy(tmp_path: Path) -> None:
    values = read(CpuCollector(), write(tmp_path, {"proc/stat": STAT}))
    assert values["cpu cpu0 user_percent"] == 50
    assert values["cpu host guest_percent"] == 25
    assert values["cpu cpu0 busy_percent"] == 100 + 20 + 2 + 1 + 4


def test_new_columns_and_lines_are_passed_over(tmp_path: Path) -> None:
    text = STAT.replace(" 50 0\n", " 50 0 9 9\n") + "new 1 2 3\n"
    values = read(CpuCollector(), write(tmp_path, {"proc/stat": text}))
    assert values["cpu cpu0 busy_percent"] == 127
    assert values["cpu host forks_per_s"] == 55


@pytest.mark.parametrize("line", ["cpu1 200 0 x 600 20 4 2 8 0 0", "cpu1 200 0 inf 600 20 4 2 8 0 0"])
def test_a_line_that_makes_no_sense_costs_its_cpu_alone(tmp_path: Path, line: str) -> None:
    text = STAT.replace("cpu1 200 0 40 600 20 4 2 8 0 0", line)
    values = read(CpuCollector(), write(tmp_path, {"proc/stat": text}))
    assert values["cpu cpu0 busy_percent"] == 127
    assert np.isnan([values["cpu cpu1 busy_percent"], values["cpu host busy_percent"]]).all()
    assert values["cpu host forks_per_s"] == 55


def test_a_file_without_counts_still_gives_times(tmp_path: Path) -> None:
    values = read(CpuCollector(), write(tmp_path, {"proc/stat": STAT.partition("intr")[0]}))
    assert values["cpu cpu1 system_percent"] == 40
    assert "cpu host forks_per_s" not in values


def test_a_cpu_that_went_offline_asks_for_a_new_list(tmp_path: Path) -> None:
    collector = CpuCollector()
    before = collector.open(Host(write(tmp_path, {"proc/stat": STAT})))
    write(tmp_path, {"proc/stat": STAT.replace("cpu1 200 0 40 600 20 4 2 8 0 0\n", "")})
    assert not collector.read(np.empty(len(before)))
    after = collector.open(Host(tmp_path))
    assert len(after) == len(before) - 7
    collector.close()


def test_a_host_without_proc_stat_has_no_data(tmp_path: Path) -> None:
    with pytest.raises(NoDataError) as caught:
        CpuCollector().open(Host(tmp_path))
    assert caught.value.reason == "not supported"


def test_load_and_tasks(tmp_path: Path) -> None:
    values = read(LoadCollector(), write(tmp_path, {"proc/loadavg": "0.20 1.18 12.12 3/80 11206\n"}))
    assert values == {
        "cpu host load_1m": 0.2,
        "cpu host load_5m": 1.18,
        "cpu host load_15m": 12.12,
        "cpu host tasks": 80,
    }


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_garbage_is_absent_and_never_raises(tmp_path_factory: pytest.TempPathFactory, garbage: bytes) -> None:
    root = tmp_path_factory.mktemp("garbage")
    for collector, name in ((CpuCollector(), "proc/stat"), (LoadCollector(), "proc/loadavg")):
        good = {"proc/stat": STAT, "proc/loadavg": "0.20 0.18 0.12 1/80 11206\n"}
        slots = collector.open(Host(write(root, good)))
        out = np.full(len(slots), np.nan)
        write(root, {name: garbage})
        collector.read(out)
        write(root, {name: b"cpu0 1 2 3 x\n" + garbage})
        collector.read(out)
        collector.close()
