"""A pipeline from telemetry to episodes, as it is after a start."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

from hostsight.clock import SECOND_NS
from hostsight.folders import DataFolder
from hostsight.settings import Settings
from hostsight.timerange import TimeRange
from ingest.embedded import EmbeddedStore
from ingest.lake import Lake
from jobs.materialise import Materialiser
from tests.unit.jobs.conftest import START_NS

ALL = TimeRange(0, 2**62)
Make = Callable[..., Materialiser]


def at(second: float) -> int:
    return START_NS + round(second * SECOND_NS)


def catch_up(one: Materialiser, second: float) -> None:
    """All that there is to do at that second."""
    while one.run(at(second)):
        pass


@pytest.fixture
def make(data: DataFolder, state: sqlite3.Connection) -> Iterator[Make]:
    """A pipeline as it is after a start: nothing in memory."""
    made: list[Materialiser] = []

    def build(settings: Settings | None = None) -> Materialiser:
        settings = settings or Settings()
        made.append(Materialiser(settings, data, EmbeddedStore(data, settings), state))
        return made[-1]

    yield build
    for one in made:
        one.close()


def read(data: DataFolder, kind: str = "features") -> pa.Table:
    return Lake(data).read(kind, "h1", ALL)  # type: ignore[arg-type]  # a literal at each call
