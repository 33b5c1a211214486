from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hostsight.clock import FakeClock
from hostsight.errors import CorruptError, ModelError, UsageError
from hostsight.folders import DataFolder
from hostsight.settings import Duration, WindowSettings
from hostsight.timerange import TimeRange
from migrations import open_state
from models.baseline import Baseline
from models.store import ModelStore
from tests.unit.models.simulator import SimulatedHost

TRAINED = TimeRange(0, 180 * 10**9)


@pytest.fixture
def connection(data: DataFolder) -> Iterator[sqlite3.Connection]:
    connection = open_state(data.state_db)
    yield connection
    connection.close()


@pytest.fixture
def store(data: DataFolder, connection: sqlite3.Connection, clock: FakeClock) -> ModelStore:
    return ModelStore(data, connection, WindowSettings(), clock)


def save(
    store: ModelStore, baseline: Baseline, clock: FakeClock, host: str = "sim", state: str = "live"
) -> str:
    clock.advance(60)
    return store.save(host, baseline, trained=TRAINED, reason="warm-up", state=state)


def test_a_saved_model_scores_as_before(
    store: ModelStore, baseline: Baseline, simulated: SimulatedHost, clock: FakeClock
) -> None:
    name = save(store, baseline, clock)
    block = simulated.windows(30, start=700)
    assert np.array_equal(store.load(name).score(block).fused, baseline.score(block).fused)
    assert store.load(name).channels == baseline.channels
    assert store.live("sim") == name


def test_a_new_model_takes_the_place_of_the_live_one(
    store: ModelStore, baseline: Baseline, clock: FakeClock
) -> None:
    first, second = save(store, baseline, clock), save(store, baseline, clock)
    other = save(store, baseline, clock, host="gpu02")
    assert {row.model: row.state for row in store.list()} == {first: "retired", second: "live", other: "live"}
    assert [row.model for row in store.list("sim")] == [second, first]


def test_a_rejected_model_leaves_the_live_one(
    store: ModelStore, baseline: Baseline, clock: FakeClock
) -> None:
    live = save(store, baseline, clock)
    save(store, baseline, clock, state="rejected")
    assert store.live("sim") == live


def test_rollback_goes_back_one_or_to_the_named(
    store: ModelStore, baseline: Baseline, clock: FakeClock
) -> None:
    names = [save(store, baseline, clock) for _ in range(3)]
    assert store.rollback("sim") == names[1]
    assert store.rollback("sim") == names[0]
    assert store.rollback("sim", names[2]) == names[2]
    assert store.live("sim") == names[2]


def test_rollback_without_an_earlier_model_says_so(
    store: ModelStore, baseline: Baseline, clock: FakeClock
) -> None:
    name = save(store, baseline, clock)
    with pytest.raises(UsageError, match="no earlier model"):
        store.rollback("sim")
    with pytest.raises(UsageError, match="no earlier model"):
        store.rollback("unheard-of")
    with pytest.raises(UsageError, match="is not of host gpu02"):
        store.rollback("gpu02", name)


def test_an_unknown_model_is_named_with_the_nearest(
    store: ModelStore, baseline: Baseline, clock: FakeClock
) -> None:
    name = save(store, baseline, clock)
    with pytest.raises(UsageError, match=f"did you mean '{name}'"):
        store.show(name[:-1])


@pytest.mark.parametrize("name", ["../etc", "a/b", "", ".hidden"])
def test_a_name_cannot_leave_the_folder(store: ModelStore, name: str) -> None:
    with pytest.raises(UsageError, match="no model's name"):
        store.load(name)


def test_a_hostile_host_name_stays_in_the_folder(
    store: ModelStore, baseline: Baseline, clock: FakeClock, data: DataFolder
) -> None:
    name = save(store, baseline, clock, host="../../x y\n💥")
    assert (data.models / name).is_dir()
    assert (data.models / name).parent == data.models
    assert store.load(name).windows == baseline.windows
    assert store.live("../../x y\n💥") == name


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_one_flipped_bit_in_the_arrays_is_refused_by_name(
    store: ModelStore, baseline: Baseline, clock: FakeClock, data: DataFolder
) -> None:
    name = save(store, baseline, clock)
    flip(data.models / name / "arrays.npz")
    with pytest.raises(CorruptError, match=f"{name} is refused: its arrays.npz"):
        store.load(name)


@pytest.mark.parametrize("change", [{"percentile": 51.0}, {"host": "other"}, {"feature_set": "0" * 64}])
def test_a_changed_manifest_is_refused(
    store: ModelStore, baseline: Baseline, clock: FakeClock, data: DataFolder, change: dict[str, object]
) -> None:
    name = save(store, baseline, clock)
    path = data.models / name / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(CorruptError, match=r"its manifest\.json is not what was written"):
        store.load(name)


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\x00", b"[]"])
def test_a_manifest_of_garbage_is_refused(
    store: ModelStore, baseline: Baseline, clock: FakeClock, data: DataFolder, content: bytes
) -> None:
    name = save(store, baseline, clock)
    (data.models / name / "manifest.json").write_bytes(content)
    with pytest.raises(CorruptError, match=name):
        store.show(name)


def test_a_pickle_in_the_arrays_is_not_run(
    store: ModelStore, baseline: Baseline, clock: FakeClock, data: DataFolder
) -> None:
    name = save(store, baseline, clock)
    np.savez(data.models / name / "arrays.npz", allow_pickle=True, evil=np.array([object()], dtype=object))
    with pytest.raises(CorruptError, match="refused"):
        store.load(name)


def test_a_missing_folder_is_named_with_the_remedy(
    store: ModelStore, baseline: Baseline, clock: FakeClock, data: DataFolder
) -> None:
    name = save(store, baseline, clock)
    (data.models / name / "arrays.npz").unlink()
    with pytest.raises(CorruptError, match=r"no arrays\.npz.*hostsight models rollback"):
        store.load(name)


def test_a_model_of_other_windows_is_refused(
    store: ModelStore, baseline: Baseline, clock: FakeClock, data: DataFolder, connection: sqlite3.Connection
) -> None:
    name = save(store, baseline, clock)
    other = ModelStore(data, connection, WindowSettings(length=Duration(5)), clock)
    with pytest.raises(ModelError, match=r"other features.*hostsight refit --host sim"):
        other.load(name)


def test_rollback_does_not_go_to_a_damaged_model(
    store: ModelStore, baseline: Baseline, clock: FakeClock, data: DataFolder
) -> None:
    first, second = save(store, baseline, clock), save(store, baseline, clock)
    flip(data.models / first / "arrays.npz")
    with pytest.raises(CorruptError, match=first):
        store.rollback("sim")
    assert store.live("sim") == second


def test_show_tells_what_a_model_was_learnt_from(
    store: ModelStore, baseline: Baseline, clock: FakeClock
) -> None:
    shown = store.show(save(store, baseline, clock)).to_json()
    assert shown["windows"] == 178
    assert shown["trained_to"] == "1970-01-01T00:03:00.000Z"
    assert shown["detectors"] == (
        "zscore",
        "mahalanobis",
        "isolation_forest",
        "gaussian_mixture",
        "nearest",
        "neighbours",
    )
    assert shown["kept_channels"] == shown["channels"] == 18


def test_old_folders_go_and_the_live_one_stays(
    store: ModelStore, baseline: Baseline, clock: FakeClock, data: DataFolder
) -> None:
    names = [save(store, baseline, clock) for _ in range(4)]
    store.rollback("sim", names[0])
    assert store.forget(keep=2) == 1
    assert sorted(path.name for path in data.models.iterdir()) == sorted([names[0], *names[2:]])
