"""What is wrong with the telemetry of a data folder."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec
import numpy as np
import pyarrow as pa

from hostsight.channel import Channel, Kind, Subsystem
from hostsight.clock import SECOND_NS
from hostsight.folders import DataFolder
from hostsight.timerange import TimeRange
from ingest.heartbeat import CollectorBeat, write_heartbeat
from ingest.lake import Lake
from ingest.store import SAMPLES
from jobs.quality import read_quality
from migrations import open_state
from tests.unit.test_heartbeat import BEAT

START = 1_700_000_000 * SECOND_NS
NOW = START + 900 * SECOND_NS


def channel(subsystem: Subsystem, device: str, metric: str, kind: Kind = "gauge") -> Channel:
    return Channel("gpu01", subsystem, device, metric, kind, "1", 0.1, "/proc")


TICKS = channel("agent", "host", "tick_lateness_seconds")


def remember(data: DataFolder, given: dict[Channel, Sequence[int]]) -> None:
    """Samples of each channel at these seconds after START."""
    state = open_state(data.state_db)
    for one in given:
        state.execute(
            "INSERT INTO channels VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0)",
            (one.id, one.host, one.subsystem, one.device, one.metric, one.kind, one.unit,
             one.period_seconds, one.source),
        )  # fmt: skip
    state.close()
    ids = np.concatenate([np.full(len(at), one.id, np.int64) for one, at in given.items()])
    seconds = np.concatenate([np.asarray(at, np.int64) for at in given.values()])
    table = pa.table(
        {
            "ts": pa.array(START + seconds * SECOND_NS).cast(pa.timestamp("ns")),
            "channel_id": ids,
            "value": np.zeros(len(ids), np.float32),
            "dt": np.ones(len(ids), np.float32),
        }
    ).cast(SAMPLES)
    Lake(data).write(
        "samples",
        "gpu01",
        TimeRange(START, NOW),
        table.sort_by([("channel_id", "ascending"), ("ts", "ascending")]),
    )


def issues(data: DataFolder) -> list[str]:
    return [issue.what for issue in read_quality(data, NOW).issues]


def test_a_folder_that_nothing_was_collected_in_says_so(data: DataFolder) -> None:
    quality = read_quality(data, NOW)
    assert (quality.collected, quality.issues) == (False, ())


def test_good_telemetry_has_no_issues(data: DataFolder) -> None:
    write_heartbeat(data, msgspec.structs.replace(BEAT, updated_ns=NOW, ticks=10_000, pid=os.getpid()))
    remember(data, {TICKS: range(900), channel("cpu", "host", "level"): range(0, 900, 10)})
    assert issues(data) == []


def test_late_ticks_losses_and_failing_collectors_are_named(data: DataFolder) -> None:
    beat = msgspec.structs.replace(
        BEAT,
        updated_ns=NOW,
        ticks=9_900,
        late_ticks=100,
        lateness_p99_ms=31.0,
        lost_values=1_200,
        collectors=[CollectorBeat("tcp", "fast", "failed", "", "ValueError: garbage", 3, 1.0)],
    )
    write_heartbeat(data, beat)
    assert issues(data) == [
        "100 ticks were skipped (1 %) since the host let the agent run too late",
        "one tick in a hundred is 31 ms late or more",
        "1,200 values could not be stored",
        "collector tcp fails: ValueError: garbage",
    ]


def test_a_silent_agent_is_named_with_what_starts_it(data: DataFolder) -> None:
    write_heartbeat(data, msgspec.structs.replace(BEAT, updated_ns=NOW - 60 * SECOND_NS, late_ticks=0))
    issue = read_quality(data, NOW).issues[0]
    assert issue.what.startswith("the agent is silent since 2023-11-14T22:")
    assert issue.remedy == "hostsight up"


def test_a_gap_is_named_with_its_length_and_its_start(data: DataFolder) -> None:
    remember(data, {TICKS: [*range(100), *range(145, 900)]})
    (issue,) = issues(data)
    assert issue.startswith("gpu01 has no telemetry for 46s after 2023-11-14T22:14:59")


def test_channels_that_stopped_are_one_line_a_device_and_events_are_not(data: DataFolder) -> None:
    remember(
        data,
        {
            TICKS: range(900),
            channel("network", "eth1", "rx"): range(700),
            channel("network", "eth1", "tx"): range(700),
            channel("network", "eth0", "rx"): range(900),
            channel("agent", "host", "step", "event"): [3],
        },
    )
    (issue,) = issues(data)
    assert issue.startswith("gpu01 network eth1 stopped at 2023-11-14T22:24:59")
    assert issue.endswith(": rx, tx")
