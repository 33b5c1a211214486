"""Learning from a recording that was imported."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from hostsight.clock import SECOND_NS
from hostsight.errors import ModelError
from hostsight.folders import DataFolder
from hostsight.settings import DetectSettings, Duration, Settings, WindowSettings
from ingest.naming import Naming
from ingest.recording import Recording
from jobs.importing import import_recording
from jobs.refit import run_refit
from tests.unit.jobs.conftest import START_NS

MINUTE = Duration(60)
MINUTES = Settings(
    window=WindowSettings(pane=MINUTE, length=MINUTE, stride=MINUTE),
    detect=DetectSettings(train_span=Duration(86_400)),
)


def imported(settings: Settings, data: DataFolder, state: sqlite3.Connection) -> None:
    """Three hours of a row a minute."""
    ts = START_NS + np.arange(180) * 60 * SECOND_NS
    values = np.random.default_rng(1).normal(5, 1, (180, 3)).astype(np.float32)
    recording = Recording(Path("made.csv"), ts, pa.timestamp("ns"), ("cpu_u", "mem_u", "disk_u"), values)
    import_recording(recording, Naming("db07"), settings, data, state)


def test_windows_as_long_as_its_period_are_learnt(data: DataFolder, state: sqlite3.Connection) -> None:
    imported(MINUTES, data, state)
    learnt = run_refit(MINUTES, data, "db07", "refit")
    assert learnt.promoted
    assert learnt.windows == 179, "the minute of the last row is not over"


def test_windows_shorter_than_its_period_are_refused_with_what_helps(
    data: DataFolder, state: sqlite3.Connection
) -> None:
    imported(Settings(), data, state)
    with pytest.raises(ModelError, match=r"db07 has a value every 1m and windows are 3s long.*analyze"):
        run_refit(Settings(), data, "db07", "refit")
