"""What a refit tells of itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from hostsight.clock import SECOND_NS, FakeClock
from hostsight.errors import CorruptError
from hostsight.folders import DataFolder
from hostsight.settings import DetectSettings, WindowSettings
from hostsight.timerange import TimeRange
from migrations import open_state
from models.protocol import WindowBlock
from models.refit import Learner, Training, refit
from models.report import RefitReport
from models.store import ModelStore
from tests.unit.models.simulator import SimulatedHost

BUSIER = {"busy_percent": 40.0}


@pytest.fixture
def store(data: DataFolder, clock: FakeClock) -> Iterator[ModelStore]:
    connection: sqlite3.Connection = open_state(data.state_db)
    yield ModelStore(data, connection, WindowSettings(), clock)
    connection.close()


def learnt(store: ModelStore, host: SimulatedHost, block: WindowBlock, *left_out: str) -> RefitReport:
    """The report of a refit on `block` without the channels of these metrics."""
    channels = {
        number: channel for number, channel in host.channels.items() if channel.metric not in left_out
    }
    span = TimeRange(int(block.ends[0]) - 3 * SECOND_NS, int(block.ends[-1]))
    learner = Learner(channels, DetectSettings(), WindowSettings())
    name = refit(store, "sim", Training(block, span, quarantined=7), learner, "nightly").model
    report = store.show(name).report
    assert report is not None
    return report


def test_the_first_model_has_nothing_to_be_compared_with(store: ModelStore, simulated: SimulatedHost) -> None:
    report = learnt(store, simulated, simulated.windows(120))
    assert report == RefitReport(quarantined=7)


def test_drift_is_told_for_the_channels_whose_level_moved_and_no_other(
    store: ModelStore, simulated: SimulatedHost
) -> None:
    learnt(store, simulated, simulated.windows(180))
    first = store.live("sim")
    report = learnt(store, simulated, simulated.windows(180, load=BUSIER, during=(0, 180)))
    assert report.compared_with == first
    assert (report.held_back, report.drifted) == (18, len(report.drift))
    assert {one.metric for one in report.drift} == {"busy_percent"}
    assert {one.device for one in report.drift} == {"cpu0", "cpu1", "cpu2", "cpu3", "host"}
    for one in report.drift:
        assert one.after - one.before == pytest.approx(40, abs=8)
        assert one.steps > 5
    sizes = [abs(one.steps) for one in report.drift]
    assert sizes == sorted(sizes, reverse=True)


def test_channels_that_came_and_went_are_named(store: ModelStore, simulated: SimulatedHost) -> None:
    block = simulated.windows(120)
    learnt(store, simulated, block, "cached_bytes")
    report = learnt(store, simulated, block, "faults_per_s", "utilisation_percent")
    assert report.appeared == ("memory cached_bytes",)
    assert report.vanished == ("memory faults_per_s", "storage vda utilisation_percent")


def test_a_report_that_was_changed_is_refused(
    store: ModelStore, simulated: SimulatedHost, data: DataFolder
) -> None:
    learnt(store, simulated, simulated.windows(120))
    name = store.live("sim")
    assert name is not None
    path = data.models / name / "report.json"
    path.write_bytes(path.read_bytes().replace(b'"quarantined":7', b'"quarantined":0'))
    with pytest.raises(CorruptError, match=r"its report\.json is not what was written"):
        store.show(name)
    assert store.load(name).windows > 0, "scoring needs no report"
