"""Values of every captured tree, read from its files without the product: twenty of each collector, where it gives so many.

`values/` has a file a tree: below the collector's name in brackets, a channel a line with its value and unit as `sample`
shows them. A tree stands still, so a rate is shown as what was counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hostsight.clock import FakeClock
from hostsight.settings import AgentSettings, Settings
from ingest.collector import Host
from ingest.reader import Reader
from ingest.registry import collectors
from ingest.survey import sample_once
from tests.unit.collectors.trees import Trees

ENOUGH = 20
VALUES = Path(__file__).parent / "values"
TREES: dict[str, Callable[[Trees], Path]] = {
    "1152cpu": Trees.largest,
    "cgroup-v1": lambda trees: trees.tar("cgroup-v1"),
    "cgroup-v2": lambda trees: trees.tar("cgroup-v2"),
    "dual-xeon-e5-2630v4-ib": lambda trees: trees.dual_xeon,
    "h100": lambda trees: trees.h100,
    "hugepages-4sizes": lambda trees: trees.tar("hugepages-4sizes"),
    "node-exporter-sys": lambda trees: trees.node_exporter,
    "numa-2node-foreign": lambda trees: trees.tar("numa-2node-foreign"),
    "numa-4node-miss": lambda trees: trees.tar("numa-4node-miss"),
    "prometheus-procfs": lambda trees: trees.prometheus,
    "xeon-e7-480cpu": lambda trees: trees.tar("xeon-e7-480cpu"),
}
TREES |= {
    name: lambda trees, name=name: trees.topology(name)  # type: ignore[misc]
    for name in (
        "20em64t-hybrid-1p6c2t+2ca4co1t",
        "40intel64-2g2n4c+pcilocality",
        "48amd64-4pa2n6c-sparse",
        "nvidia-dgx-gb10",
        "nvidiagpunumanodes",
        "offline-cpu0-node0",
    )
}
OF_ITSELF = {"agent", "ticks"}


def by_hand(name: str) -> dict[str, dict[str, tuple[float, str]]]:
    """Collector -> `subsystem device metric` -> value and unit."""
    found: dict[str, dict[str, tuple[float, str]]] = {}
    collector = ""
    for line in (VALUES / f"{name}.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            collector = line.strip("[]")
        else:
            channel, value, unit = line.rsplit(" ", 2)
            found.setdefault(collector, {})[channel] = (float(value), unit)
    return found


def given(root: Path) -> Counter[str]:
    """How many channels each collector gives a value for, and no collector before it."""
    found, taken = Counter[str](), set[tuple[str, str, str]]()
    for collector in collectors():
        if collector.name not in OF_ITSELF:
            reader = Reader(collector, Host(root), FakeClock())
            with np.errstate(all="ignore"):
                values = reader.step()
            if values is not None:
                slots = [slot for slot, raw in zip(reader.slots, reader.raw, strict=True) if np.isfinite(raw)]
                own = {(slot.subsystem, slot.device, slot.metric.name) for slot in slots} - taken
                found[collector.name] = len(own)
                taken |= own
            reader.close()
    return found


@pytest.mark.parametrize("name", TREES)
def test_values_and_units_are_those_of_the_files(trees: Trees, name: str) -> None:
    settings = Settings(agent=AgentSettings(root=str(TREES[name](trees))))
    rows = {f"{row.subsystem} {row.device} {row.metric}": row for row in sample_once(settings, interval=0.0)}
    for channels in by_hand(name).values():
        for channel, (value, unit) in channels.items():
            row = rows[channel]
            assert row.value == pytest.approx(value, rel=1e-9, abs=1e-12), channel
            assert row.unit == unit, channel


@pytest.mark.parametrize("name", TREES)
def test_twenty_values_of_each_collector_are_known(trees: Trees, name: str) -> None:
    read = {collector: len(channels) for collector, channels in by_hand(name).items()}
    lacking = {
        collector: count
        for collector, count in given(TREES[name](trees)).items()
        if read.get(collector, 0) < min(ENOUGH, count)
    }
    assert lacking == {}
