from __future__ import annotations

import sqlite3
from functools import partial

import msgspec
import pyarrow as pa
import pytest

from hostsight.clock import SECOND_NS
from hostsight.folders import DataFolder
from hostsight.settings import DetectSettings, Settings
from hostsight.timerange import TimeRange
from jobs.detection import Detection
from models.attribution import Attribution
from models.baseline import fit_baseline
from models.episode_state import Current, TrackerState
from models.fleet import Fleet
from models.frames import select_rows
from models.history import History
from models.layout import layout_for
from models.protocol import WindowBlock
from models.store import ModelStore
from tests.unit.models.simulator import SimulatedHost, feature_table

TRAINED = 1600
SPLIT = 1650


def part(block: WindowBlock, first: int, last: int) -> WindowBlock:
    """Windows that end after second `first` up to second `last`."""
    return select_rows(block, (block.ends > first * SECOND_NS) & (block.ends <= last * SECOND_NS))


def written(block: WindowBlock, span: TimeRange) -> pa.Table:
    rows = (block.ends > span.start_ns) & (block.ends <= span.end_ns)
    return feature_table(select_rows(block, rows))


@pytest.fixture
def block(data: DataFolder, state: sqlite3.Connection) -> WindowBlock:
    """Windows of a host whose model looks at windows of two lengths."""
    host = SimulatedHost()
    block = host.windows(1720)
    layout = layout_for(Settings().window, TRAINED * SECOND_NS)
    assert layout.scales == (1, 5)
    learnt = select_rows(History(layout).widen(part(block, 0, TRAINED)), slice(0, None, 8))
    models = ModelStore(data, state)
    models.save(
        host.host,
        fit_baseline(learnt, host.channels, DetectSettings()),
        trained=TimeRange(0, TRAINED * SECOND_NS),
        reason="test",
    )
    return block


def detection(data: DataFolder, state: sqlite3.Connection, block: WindowBlock, reached: int) -> Detection:
    """As it is after a start, when windows are written up to second `reached`."""
    one = Detection(
        SimulatedHost.host,
        Settings(),
        ModelStore(data, state),
        state,
        read=partial(written, block),
        fleet=Fleet(()),
    )
    one.follow_live_model(reached * SECOND_NS)
    return one


def test_a_restart_changes_no_score(data: DataFolder, state: sqlite3.Connection, block: WindowBlock) -> None:
    without = detection(data, state, block, TRAINED)
    without.judge(feature_table(part(block, TRAINED, SPLIT)), ())
    expected = without.judge(feature_table(part(block, SPLIT, 1720)), ()).scores
    restarted = detection(data, state, block, SPLIT)
    assert restarted.judge(feature_table(part(block, SPLIT, 1720)), ()).scores == expected


def test_without_what_came_before_the_first_scores_would_differ(
    data: DataFolder, state: sqlite3.Connection, block: WindowBlock
) -> None:
    known = detection(data, state, block, SPLIT)
    forgetful = detection(data, state, part(block, SPLIT, 1720), SPLIT)
    first = feature_table(part(block, SPLIT, SPLIT + 5))
    assert known.judge(first, ()).scores != forgetful.judge(first, ()).scores


def item(metric: str, words: str) -> Attribution:
    return Attribution(
        channel_id=SimulatedHost().id(metric),
        subsystem="memory",
        device="host",
        metric=metric,
        share=0.5,
        expected=1.0,
        actual=2.0,
        unit="",
        direction="high",
        deviation=9.0,
        words=words,
    )


@pytest.mark.parametrize(
    ("words", "closed"), [("", ["closed"]), ("storage vda stopped reporting at 12:00:05 UTC", [])]
)
def test_a_steady_job_in_which_something_stopped_stays_an_episode(
    data: DataFolder, state: sqlite3.Connection, block: WindowBlock, words: str, closed: list[str]
) -> None:
    """Whatever the job explains of it."""
    job = SimulatedHost().windows(
        700, start=1720, load={"busy_percent": 70.0, "faults_per_s": 5e4}, during=(0, 700)
    )
    ends = [each * SECOND_NS for each in (1730, 2420)]
    current = Current(
        opened_ns=ends[0],
        last_seen_ns=ends[1],
        attribution=(item("faults_per_s", ""), item("available_bytes", words)),
    )
    tracked = msgspec.json.encode(TrackerState(seen_ns=ends[1], current=current)).decode()
    state.execute("INSERT INTO trackers VALUES (?, ?)", (SimulatedHost.host, tracked))
    one = detection(data, state, job, 2420)
    assert [change.action for change in one.new_regime(ends[1])] == closed


def test_what_was_open_ends_where_no_model_can_judge_any_more(
    data: DataFolder, state: sqlite3.Connection, block: WindowBlock
) -> None:
    last_ns = TRAINED * SECOND_NS
    current = Current(opened_ns=last_ns, last_seen_ns=last_ns, attribution=(item("available_bytes", ""),))
    tracked = msgspec.json.encode(TrackerState(seen_ns=last_ns, current=current)).decode()
    state.execute("INSERT INTO trackers VALUES (?, ?)", (SimulatedHost.host, tracked))
    state.execute("UPDATE models SET state = 'retired'")
    one = detection(data, state, block, TRAINED)
    assert one.judge(feature_table(part(block, TRAINED, TRAINED + 29)), ()).changes == []
    (change,) = one.judge(feature_table(part(block, TRAINED + 29, TRAINED + 31)), ()).changes
    assert (change.action, change.closed_ns) == ("closed", last_ns + 30 * SECOND_NS)
