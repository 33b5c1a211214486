"""What `bench influx` says of its own figures."""

from __future__ import annotations

import numpy as np
import pytest

from bench.influx import BUDGETS, Tally, budgets, fill_spool, growth, timed
from bench.influx_server import binary, own_server
from bench.server import server_channels
from hostsight.errors import UnavailableError, UsageError
from hostsight.folders import DataFolder
from hostsight.settings import InfluxSettings, Settings
from ingest.segment import SegmentReader, list_segments


def test_a_budget_says_what_was_measured_and_whether_it_is_kept() -> None:
    found = budgets({"write_ratio_to_ceiling": 0.69, "write_cpu_us_per_value": 2.9})
    assert found["write_ratio_to_ceiling"] == {"least": 0.7, "measured": 0.69, "met": False}
    assert found["write_cpu_us_per_value"] == {"most": 3.0, "measured": 2.9, "met": True}


def test_what_was_not_measured_is_neither_kept_nor_missed() -> None:
    found = budgets({})
    assert found.keys() == BUDGETS.keys()
    assert found["export_ratio_to_client"] == {"least": 4.0, "measured": None, "met": None}


def test_turns_add_up() -> None:
    both = Tally(100, 2.0, 0.5) + Tally(300, 2.0, 0.5)
    assert (both.values, both.rate, both.cpu_seconds) == (400, 100.0, 1.0)
    assert timed(lambda: 7).values == 7


def test_nothing_measured_is_told_with_a_remedy() -> None:
    with pytest.raises(UsageError, match="raise --seconds"):
        _ = Tally().rate


def test_the_spool_holds_every_tick_of_the_synthetic_host(data: DataFolder) -> None:
    fill_spool(data, Settings(), server_channels(20), 5)
    (name,) = list_segments(data.spool)
    reader = SegmentReader(data.spool / str(name))
    reader.refresh()
    batches = [ticks for frame in reader.frames if (ticks := reader.read(frame)) is not None]
    assert sum(np.isfinite(batch.values).sum() for batch in batches) == 5 * 10 * 20


def test_without_a_server_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch, data: DataFolder) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(data.root))
    assert not binary().exists()
    with (
        pytest.raises(UnavailableError, match=r"tests/influx/build, or name a running one by --url"),
        own_server(InfluxSettings()),
    ):
        pass


def test_growth_is_told_from_the_to_and_fro_of_requests() -> None:
    assert growth([50, 90, 100, 110, 90, 100, 100, 110, 90]) == 0
    assert growth([50, 60, 70, 80, 90, 100]) == 20
    assert growth([50]) == 0
