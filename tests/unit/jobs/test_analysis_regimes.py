"""Four days of a machine that goes from job to job, a row a minute, through the same SQL, model and tracker as live telemetry."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from hostsight.clock import SECOND_NS
from hostsight.settings import DetectSettings, WindowSettings
from ingest.recording import Recording
from jobs.analysis import Analysis, Analyst

MINUTE_NS = 60 * SECOND_NS
HOUR = 60
DAY = 24 * HOUR
NAMES = ("cpu_busy", "gpu_power", "disk_write", "net_rx", "mem_used")
IDLE, TRAINING, CHECKPOINT = (
    (3.0, 70.0, 1.0, 2.0, 20.0),
    (60.0, 680.0, 3.0, 90.0, 75.0),
    (25.0, 150.0, 400.0, 5.0, 75.0),
)
NOISE = (0.4, 3.0, 0.3, 0.5, 0.2)


def recording(start: int, days: int) -> Recording:
    """Each day the jobs run at other times; an hour of checkpoints ends each training."""
    rng = np.random.default_rng(start)
    levels: list[tuple[float, ...]] = []
    while len(levels) < days * DAY:
        idle, training = rng.integers(3 * HOUR, 6 * HOUR), rng.integers(3 * HOUR, 7 * HOUR)
        levels += [IDLE] * int(idle) + [TRAINING] * int(training) + [CHECKPOINT] * HOUR
    values = np.array(levels[: days * DAY]) + rng.normal(size=(days * DAY, len(NAMES))) * NOISE
    ts = (start + np.arange(len(values))) * MINUTE_NS
    return Recording(Path("made.parquet"), ts, pa.timestamp("ns"), NAMES, values.astype(np.float32))


def judged() -> Recording:
    """Two more days; in one idle stretch the CPU does ten points more, a sixth of what a job does."""
    found = recording(4 * DAY, 2)
    idle = np.flatnonzero(found.values[:, 1] < 100)
    runs = np.split(idle, np.flatnonzero(np.diff(idle) > 1) + 1)
    rows = max(runs, key=len)[60:100]
    found.values[rows, 0] += 10.0
    return found


@cache
def analysis() -> Analysis:
    return Analyst(DetectSettings(), WindowSettings()).analyse(recording(0, 4), judged())


def test_the_jobs_are_three_regimes_named_by_what_tells_them_apart() -> None:
    known = analysis().baseline.regimes.known
    assert [each.name for each in known] == ["cpu busy 3", "cpu busy 60", "cpu busy 25"]
    assert [round(each.share, 2) for each in known] == [0.44, 0.47, 0.09]


def test_an_incident_in_one_job_is_found_among_switches_that_raise_nothing() -> None:
    found, values = analysis(), judged().values
    ill = np.flatnonzero((values[:, 0] > 8) & (values[:, 0] < 18))
    switches = np.flatnonzero(np.abs(np.diff(values[:, 1])) > 40) + 1
    assert len(switches) == 12
    opened = [(found.stamp_ns(each.opened_ns) - judged().ts[0]) // MINUTE_NS for each in found.episodes]
    first = found.episodes[0]
    assert ill[0] <= opened[0] <= ill[0] + 5
    assert (first.subsystem, first.regime) == ("cpu", "cpu busy 3")
    assert first.attribution[0].expected == pytest.approx(3.0, abs=0.1)
    assert not [each for each in opened for switch in switches if 0 <= each - switch < 30]
    assert len(opened) <= 2, "a budget of half an episode a day allows one more"
