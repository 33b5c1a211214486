"""Other collectors beside the agent."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench import peers
from bench.peers import PEERS, Peer, Run, Tally, running


def _working(folder: Path, stack: ExitStack) -> Run:
    """A process that computes until it is ended, and says that it gave 100 values a second."""
    process = peers._spawn(stack, folder, [sys.executable, "-c", "while True: pass"])
    return Run([process], lambda _seconds: Tally(100.0, 250.0))


def _ending(folder: Path, stack: ExitStack) -> Run:
    process = peers._spawn(stack, folder, [sys.executable, "-c", "pass"])
    process.wait()
    return Run([process], lambda _seconds: Tally(100.0, None))


def test_a_peer_is_measured_and_ended(tmp_path: Path) -> None:
    peer = Peer("busy", "busy-package", 0.1, (sys.executable,), _working)
    with running(tmp_path, [peer]) as (one,):
        process = one._run.processes[0]
        one.watch()
        figures = one.result()
    assert process.returncode is not None
    assert figures["stored_bytes_per_value"] == 2.5
    assert figures["keeps_history"] is True
    assert isinstance(figures["cpu_percent"], float)
    assert figures["cpu_us_per_value"] == pytest.approx(100 * figures["cpu_percent"])


def test_a_peer_that_ends_by_itself_is_told_and_costs_no_other(tmp_path: Path) -> None:
    peer = Peer("short", "short-package", 0.1, (sys.executable,), _ending)
    with running(tmp_path, [peer]) as (one,):
        one.watch()
        assert one.result() == {"error": "short ended by itself", "install": peer.install}


def test_a_peer_that_is_not_installed_is_named_with_its_package() -> None:
    absent = Peer("absent", "absent-package", 1.0, ("/nowhere/absent",), _working)
    assert absent.missing
    assert absent.install == "apt install --no-install-recommends absent-package"
    assert {peer.name for peer in PEERS} == {
        "collectd",
        "node_exporter",
        "pmlogger",
        "pmlogger_whole_tables",
        "netdata",
    }


def test_the_values_of_an_archive_are_counted_for_each_metric_and_instance() -> None:
    summary = (
        "Log Label (Log Format Version 2)\n"
        "kernel.all.load [\"1 minute\"] 4.330 40 none\n"
        "kernel.all.pswitch  1234.5 39 count / second\n"
        "disk.dev.read [\"vda\"] 0.000 39 count / second\n"
    )  # fmt: skip
    assert peers._SUMMARY.findall(summary) == ["40", "39", "39"]


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("pgfault", ["mem.vmstat.pgfault"]),
        ("Ip.InReceives", ["network.ip.inreceives"]),
        ("Ip6InReceives", ["network.ip6.inreceives"]),
        ("TcpExt.TCPLossProbes", ["network.tcp.lossprobes", "network.tcp.tcplossprobes"]),
    ],
)
def test_pmlogger_is_asked_for_what_the_agent_takes(key: str, names: list[str]) -> None:
    assert peers._pcp_names(key) == names
