"""The real source, on a data folder with a host, an episode and a minute of features."""

from __future__ import annotations

import math
import subprocess
import sys

import pyarrow as pa
import pytest

from hostsight.channel import Channel, channel_id
from hostsight.clock import SECOND_NS, FakeClock
from hostsight.errors import StorageError, UsageError
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from hostsight.timerange import TimeRange
from ingest.lake import Lake
from migrations import open_state
from sql.schemas import FEATURES
from tui.live import LiveSource, aligned

START_NS = 1_800_000_000 * SECOND_NS
SPAN = TimeRange(START_NS, START_NS + 60 * SECOND_NS)
BUSY = Channel("gpu01", "cpu", "host", "busy_percent", "gauge", "%", 1.0, "/proc/stat")

SCRIPT = """
INSERT INTO channels VALUES ({channel}, 'gpu01', 'cpu', 'host', 'busy_percent', 'gauge', '%', 1.0, '/proc/stat', 0, 1);
INSERT INTO models VALUES ('gpu01-1', 'gpu01', 'live', 0, 0, 1, 60, 1, 1, 'warm-up');
INSERT INTO watermarks VALUES ('materialise', 'gpu01', {end}, {end});
INSERT INTO episodes VALUES (7, 'gpu01', 'open', {opened}, {end}, NULL, 'critical', 9.5, 0.75, 'cpu', 'host',
  'busy_percent', NULL, 'cpu: busy is 97 %', 'gpu01-1', {end}, NULL, NULL, NULL, NULL, '');
INSERT INTO attributions VALUES (7, 1, {channel}, 'cpu', 'host', 'busy_percent', 1.0, NULL, 97.0, '%', 'high');
INSERT INTO episode_detectors VALUES (7, 'zscore', 0.001, 0.01);
"""


@pytest.fixture
def source(data: DataFolder) -> LiveSource:
    """Every second of SPAN but the second ten has a window; its mean is the number of the second."""
    state = open_state(data.state_db)
    state.executescript(
        SCRIPT.format(channel=BUSY.id, end=SPAN.end_ns, opened=SPAN.start_ns + 30 * SECOND_NS)
    )
    state.close()
    seconds = [second for second in range(1, 61) if not 10 < second <= 20]
    ends = [START_NS + second * SECOND_NS for second in seconds]
    means = [float(second) for second in seconds]
    columns = [ends, [BUSY.id] * len(ends), [10] * len(ends), means, means, means, means, means]
    arrays = [pa.array(values, field.type) for values, field in zip(columns, FEATURES, strict=True)]
    Lake(data).write("features", "gpu01", SPAN, pa.table(arrays, schema=FEATURES))
    return LiveSource(data, Settings(), FakeClock(wall_ns=SPAN.end_ns + SECOND_NS))


def test_an_empty_folder_is_no_hosts_and_no_episodes(data: DataFolder) -> None:
    source = LiveSource(data, Settings(), FakeClock())
    assert source.pulse().hosts == ()
    assert source.episodes(SPAN) == ()
    assert source.headlines(SPAN, 60) == {}


def test_a_host_with_a_live_model_is_live(source: LiveSource) -> None:
    (host,) = source.pulse().hosts
    assert (host.host, host.phase, host.progress) == ("gpu01", "live", 1.0)
    assert host.newest_ns == SPAN.end_ns


def test_headlines_have_gaps_where_nothing_was_stored(source: LiveSource) -> None:
    (cpu,) = source.headlines(SPAN, 60)["gpu01"]
    assert (cpu.subsystem, cpu.label, cpu.unit) == ("cpu", "busy", "%")
    assert cpu.series.step_ns == SECOND_NS
    assert [cpu.series.values[index] for index in (0, 9, 20, 59)] == [1.0, 10.0, 21.0, 60.0]
    assert all(map(math.isnan, cpu.series.values[10:20]))


def test_episodes_are_those_that_touch_the_span(source: LiveSource) -> None:
    (episode,) = source.episodes(SPAN)
    assert (episode.id, episode.open, episode.severity) == (7, True, "critical")
    assert source.episodes(TimeRange(0, START_NS)) == []


def test_an_episode_in_full(source: LiveSource) -> None:
    detail = source.episode(7)
    assert (detail.attribution[0].share, detail.attribution[0].expected) == (1.0, None)
    assert (detail.detectors[0].name, detail.model) == ("zscore", "gpu01-1")
    with pytest.raises(UsageError, match="no episode 8"):
        source.episode(8)


def test_the_course_of_an_attributed_channel(source: LiveSource) -> None:
    channel = source.episode(7).attribution[0]
    assert BUSY.id == channel_id("gpu01", channel.subsystem, channel.device, channel.metric)
    series = source.series("gpu01", channel, SPAN, 60)
    assert (series.start_ns, series.values[29]) == (SPAN.start_ns, 30.0)


def test_the_schema_is_the_views_a_query_can_use(source: LiveSource) -> None:
    columns = {view.name: [name for name, _ in view.columns] for view in source.views()}
    assert columns["samples"][:3] == ["ts", "channel_id", "value"]
    assert set(columns) >= {
        "channels",
        "features",
        "scores",
        "episodes",
        "attributions",
        "models",
        "job_runs",
    }


def test_a_query_gives_text_and_says_when_there_is_more(source: LiveSource) -> None:
    result = source.query("SELECT mean, window_end FROM features ORDER BY window_end", 2).wait()
    assert result.cells == (("1", "2"), ("2027-01-15 08:00:01", "2027-01-15 08:00:02"))
    assert result.truncated


def test_a_query_can_be_cancelled(source: LiveSource) -> None:
    query = source.query("SELECT count(*) FROM features a, features b, features c, features d, features e", 1)
    query.cancel()
    with pytest.raises(UsageError, match="cancelled"):
        query.wait()


def test_a_database_that_cannot_be_read_is_a_sentence(source: LiveSource, data: DataFolder) -> None:
    state = open_state(data.state_db)
    state.execute("DROP TABLE episodes")
    state.close()
    with pytest.raises(StorageError, match="cannot be read"):
        source.episodes(SPAN)


def test_reading_spans_lie_on_the_grid_of_their_step() -> None:
    minute = 60 * SECOND_NS
    assert aligned(TimeRange(START_NS + 1, START_NS + minute), 60).start_ns == START_NS
    coarse = aligned(TimeRange(START_NS + 7 * SECOND_NS, START_NS + 3607 * SECOND_NS), 60)
    assert (coarse.start_ns, coarse.end_ns) == (START_NS, START_NS + 61 * minute)


def test_the_first_frame_waits_for_no_engine() -> None:
    code = "import sys, tui.app, tui.live; print(*sorted({'duckdb', 'pyarrow', 'numpy', 'sklearn'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
