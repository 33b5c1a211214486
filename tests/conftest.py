"""Fixtures that every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hostsight.clock import FakeClock
from hostsight.folders import DataFolder
from tests.unit.collectors.trees import Trees

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """Captured trees and labelled incidents of real servers; tests that need them are left out without."""
    folder = Path(os.environ.get("HOSTSIGHT_SHARED") or REPOSITORY.parent / "shared")
    if not (folder / "fixtures").is_dir():
        pytest.skip(f"no captured data at {folder}; HOSTSIGHT_SHARED names another place")
    return folder


@pytest.fixture(scope="session")
def trees(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Trees:
    """Captured /proc and /sys of real servers."""
    return Trees(shared / "fixtures" / "host", tmp_path_factory.mktemp("trees"))


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    return DataFolder(tmp_path / "data").create()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting or terminal width of whoever runs the tests reaches them."""
    for name in os.environ:
        ours = name.startswith(("HOSTSIGHT_", "INFLUXDB_V2_")) and name != "HOSTSIGHT_SHARED"
        if ours or name in {"COLUMNS", "NO_COLOR"}:
            monkeypatch.delenv(name)
