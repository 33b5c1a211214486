from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from hostsight.clock import SECOND_NS, FakeClock
from hostsight.errors import ModelError
from hostsight.folders import DataFolder
from hostsight.settings import DetectSettings, WindowSettings
from hostsight.timerange import TimeRange
from migrations import open_state
from models.protocol import WindowBlock
from models.refit import Learner, Training, read_training, refit
from models.store import ModelStore
from sql.schemas import FEATURE_NAMES
from tests.unit.models.simulator import SimulatedHost, feature_table

ALL = TimeRange(0, 2000 * SECOND_NS)


class Reader:
    """Features of one block, by time range; counts what was asked for at once."""

    def __init__(self, block: WindowBlock) -> None:
        self._block = block
        self.longest = 0.0

    def __call__(self, span: TimeRange) -> pa.Table:
        self.longest = max(self.longest, span.seconds)
        inside = (self._block.ends > span.start_ns) & (self._block.ends <= span.end_ns)
        return feature_table(
            WindowBlock(self._block.ends[inside], self._block.channels, self._block.values[inside])
        )


def training(block: WindowBlock) -> Training:
    return Training(block, TimeRange(int(block.ends[0]) - 3 * SECOND_NS, int(block.ends[-1])))


def learner(simulated: SimulatedHost, train_windows: int = 20_000) -> Learner:
    return Learner(simulated.channels, DetectSettings(train_windows=train_windows), WindowSettings())


@pytest.fixture
def store(data: DataFolder, clock: FakeClock) -> Iterator[ModelStore]:
    connection: sqlite3.Connection = open_state(data.state_db)
    yield ModelStore(data, connection, WindowSettings(), clock)
    connection.close()


def test_training_is_read_in_parts_and_equals_what_was_there(simulated: SimulatedHost) -> None:
    block = simulated.windows(1500)
    reader = Reader(block)
    found = read_training(reader, ALL, [], learner(simulated))
    assert np.array_equal(found.block.ends, block.ends)
    assert np.array_equal(found.block.values[:, :, : len(FEATURE_NAMES)], block.values)
    assert reader.longest <= 3600


def test_no_more_windows_are_read_than_can_be_fitted(
    simulated: SimulatedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = len(simulated.channels) - 1
    monkeypatch.setattr("models.baseline._CELLS", cells * 10 * 50)  # two scales of five features
    found = read_training(Reader(simulated.windows(1800)), ALL, [], learner(simulated))
    assert set(np.diff(found.block.ends).tolist()) == {20 * SECOND_NS}, "twice fifty of 2000 seconds"


def test_long_windows_reach_back_beyond_what_is_read_at_once(
    simulated: SimulatedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = simulated.windows(1800)
    whole = read_training(Reader(block), ALL, [], learner(simulated))
    assert whole.block.layout.scales == (1, 5)
    monkeypatch.setattr("models.refit._READ_NS", 60 * SECOND_NS)
    parts = read_training(Reader(block), ALL, [], learner(simulated))
    assert np.array_equal(parts.block.values, whole.block.values, equal_nan=True)


def test_quarantined_windows_are_left_out_and_counted(simulated: SimulatedHost) -> None:
    sick = TimeRange(100 * SECOND_NS, 200 * SECOND_NS)
    found = read_training(Reader(simulated.windows(300)), ALL, [sick], learner(simulated))
    assert found.quarantined == 100
    assert len(found.block.ends) == 298 - 100
    assert not ((found.block.ends > sick.start_ns) & (found.block.ends <= sick.end_ns)).any()


def test_long_histories_are_thinned_evenly(simulated: SimulatedHost) -> None:
    found = read_training(Reader(simulated.windows(1500)), ALL, [], learner(simulated, 500))
    assert set(np.diff(found.block.ends).tolist()) == {4 * SECOND_NS}


def test_the_first_model_goes_live(store: ModelStore, simulated: SimulatedHost) -> None:
    result = refit(store, "sim", training(simulated.windows(180)), learner(simulated), "warm-up")
    assert result.promoted
    assert result.live_flagged is None
    assert store.live("sim") == result.model
    row = store.list()[0]
    assert (row.trained_from_ns, row.trained_to_ns, row.reason) == (0, 180 * SECOND_NS, "warm-up")


def test_the_oldest_models_folders_are_deleted(
    store: ModelStore,
    simulated: SimulatedHost,
    data: DataFolder,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("models.refit._KEPT_MODELS", 1)
    for _ in range(2):
        clock.advance(60)
        result = refit(store, "sim", training(simulated.windows(60)), learner(simulated), "refit")
    assert [path.name for path in data.models.iterdir()] == [result.model]


def test_a_refit_on_more_of_the_same_is_promoted(store: ModelStore, simulated: SimulatedHost) -> None:
    refit(store, "sim", training(simulated.windows(180)), learner(simulated), "warm-up")
    result = refit(store, "sim", training(simulated.windows(360)), learner(simulated), "growth")
    assert result.promoted
    assert store.live("sim") == result.model


def test_a_model_that_flags_more_of_the_newest_windows_is_kept_as_rejected(
    store: ModelStore, simulated: SimulatedHost
) -> None:
    busy = {"busy_percent": 60.0, "write_bytes_per_s": 1e8, "rx_bytes_per_s": 1e8}
    wide = simulated.windows(600, load=busy, during=(0, 600))
    first = refit(store, "sim", training(wide), learner(simulated), "warm-up")
    quiet_then_busy = simulated.windows(600, start=600, load=busy, during=(545, 600))
    result = refit(store, "sim", training(quiet_then_busy), learner(simulated), "nightly")
    assert result.flagged > 0.8
    assert result.live_flagged is not None
    assert result.live_flagged < 0.3
    assert not result.promoted
    assert store.live("sim") == first.model


def test_a_live_model_that_cannot_be_used_does_not_block_a_refit(
    store: ModelStore, simulated: SimulatedHost, data: DataFolder
) -> None:
    first = refit(store, "sim", training(simulated.windows(180)), learner(simulated), "warm-up")
    (data.models / first.model / "arrays.npz").write_bytes(b"garbage")
    second = refit(store, "sim", training(simulated.windows(180)), learner(simulated), "refit")
    assert second.promoted
    assert store.live("sim") == second.model


def test_too_little_to_learn_from_leaves_nothing_behind(
    store: ModelStore, simulated: SimulatedHost, data: DataFolder
) -> None:
    found = read_training(Reader(simulated.windows(300)), ALL, [ALL], learner(simulated))
    with pytest.raises(ModelError, match="0 windows"):
        refit(store, "sim", found, learner(simulated), "refit")
    assert store.list() == []
    assert list(data.models.iterdir()) == []
