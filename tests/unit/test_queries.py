"""The product's own queries: golden values, and files that vanish or are damaged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from hostsight.channel import Channel, Subsystem
from hostsight.clock import SECOND_NS
from hostsight.errors import StorageError
from hostsight.folders import DataFolder
from hostsight.timerange import TimeRange
from ingest.lake import Lake, LakeFile
from migrations import open_state
from sql import engine
from sql.reader import Reader
from sql.schemas import FEATURES

START = 1_700_000_000 * SECOND_NS


def channel(subsystem: Subsystem, device: str, metric: str, host: str = "gpu01") -> Channel:
    return Channel(host, subsystem, device, metric, "rate", "1", 0.1, "/proc")


BUSY = channel("cpu", "host", "busy_percent")


def span(start: int, end: int) -> TimeRange:
    return TimeRange(START + start * SECOND_NS, START + end * SECOND_NS)


def remember(data: DataFolder, channels: Sequence[Channel]) -> None:
    state = open_state(data.state_db)
    for known in channels:
        state.execute(
            "INSERT INTO channels VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0)",
            (known.id, known.host, known.subsystem, known.device, known.metric, known.kind, known.unit,
             known.period_seconds, known.source),
        )  # fmt: skip
    state.close()


def write(data: DataFolder, start: int, values: dict[int, Sequence[float]], host: str = "gpu01") -> None:
    """Features of windows that end each second after `start`: mean v, min v - 1, max v + 1."""
    count = len(next(iter(values.values())))
    ends = [START + (start + 1 + i) * SECOND_NS for i in range(count)] * len(values)
    means = np.concatenate([np.asarray(given, np.float32) for given in values.values()])
    table = pa.table(
        {
            "window_end": pa.array(ends, pa.int64()).cast(pa.timestamp("ns")),
            "channel_id": np.repeat(list(values), count),
            "n": np.full(len(means), 10, np.int32),
            "mean": means,
            "std": np.zeros_like(means),
            "min": means - 1,
            "max": means + 1,
            "slope": np.zeros_like(means),
        }
    ).cast(FEATURES)
    Lake(data).write("features", host, span(start, start + count), table)


def test_a_series_is_reduced_to_even_steps_with_gaps_as_nan(data: DataFolder) -> None:
    write(data, 0, {BUSY.id: [1, 3, 5, 7]})
    write(data, 8, {BUSY.id: [10, 20]})
    series = Reader(data).series("gpu01", BUSY.id, span(0, 10), 5)
    assert (series.start_ns, series.step_ns) == (START, 2 * SECOND_NS)
    np.testing.assert_array_equal(series.mean, [2, 6, np.nan, np.nan, 15])
    np.testing.assert_array_equal(series.low, [0, 4, np.nan, np.nan, 9])
    np.testing.assert_array_equal(series.high, [4, 8, np.nan, np.nan, 21])


def test_a_series_has_no_step_shorter_than_a_second(data: DataFolder) -> None:
    write(data, 0, {BUSY.id: [1, 3, 5]})
    series = Reader(data).series("gpu01", BUSY.id, span(0, 3), 1000)
    assert series.mean.tolist() == [1, 3, 5]


def test_a_series_keeps_to_its_channel_host_and_time(data: DataFolder) -> None:
    write(data, 0, {BUSY.id: [1, 2, 3, 4], 99: [7, 7, 7, 7]})
    write(data, 0, {BUSY.id: [50, 50, 50, 50]}, host="gpu02")
    series = Reader(data).series("gpu01", BUSY.id, span(1, 3), 2)
    assert series.mean.tolist() == [2, 3]


def test_headlines_stand_for_their_subsystems_in_order(data: DataFolder) -> None:
    channels: dict[Channel, Sequence[float]] = {
        channel("storage", "vda", "read_bytes_per_s"): [100, 200],
        channel("storage", "vda", "write_bytes_per_s"): [10, 20],
        channel("storage", "dm-0", "read_bytes_per_s"): [100, 200],
        channel("network", "eth0", "rx_bytes_per_s"): [1, 1],
        channel("network", "eth1", "tx_bytes_per_s"): [2, 3],
        channel("network", "bond0", "rx_bytes_per_s"): [1, 1],
        channel("network", "eth0.100", "rx_bytes_per_s"): [1, 1],
        channel("network", "cni0", "rx_bytes_per_s"): [1, 1],
        channel("network", "flannel.1", "tx_bytes_per_s"): [1, 1],
        BUSY: [40, 101.2],
        channel("cpu", "cpu0", "busy_percent"): [100, 100],
        channel("memory", "host", "used_percent"): [25, 25],
    }
    remember(data, list(channels))
    write(data, 0, {known.id: values for known, values in channels.items()})
    other = channel("cpu", "host", "busy_percent", "gpu02")
    remember(data, [other])
    write(data, 0, {other.id: [7, 8]}, host="gpu02")
    hosts = Reader(data).headlines(span(0, 3), 10)
    assert list(hosts) == ["gpu01", "gpu02"]
    np.testing.assert_array_equal(hosts["gpu02"][0].values, [7, 8, np.nan])
    found = hosts["gpu01"]
    assert [(line.subsystem, line.label, line.unit) for line in found] == [
        ("cpu", "busy", "%"), ("memory", "used", "%"), ("network", "traffic", "B/s"), ("storage", "throughput", "B/s"),
    ]  # fmt: skip
    np.testing.assert_array_equal(found[0].values, [40, 100, np.nan])
    np.testing.assert_array_equal(found[2].values, [3, 4, np.nan])
    np.testing.assert_array_equal(found[3].values, [110, 220, np.nan])


def test_an_empty_data_folder_has_no_headlines_and_empty_series(data: DataFolder) -> None:
    assert Reader(data).headlines(span(0, 5), 5) == {}
    assert np.isnan(Reader(data).series("gpu01", 1, span(0, 5), 5).mean).all()


def test_a_file_replaced_between_listing_and_reading_is_looked_for_again(
    data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(data, 0, {BUSY.id: [1, 2]})
    listed = Lake.files
    gone = LakeFile("features", "gpu01", span(2, 4), data.lake / "gone.parquet")
    calls: list[int] = []

    def stale(lake: Lake, kind: str, **where: object) -> list[LakeFile]:
        calls.append(1)
        files = listed(lake, kind, **where)  # type: ignore[arg-type]  # passed on as they came
        return [*files, gone] if len(calls) == 1 else files

    monkeypatch.setattr(Lake, "files", stale)
    assert Reader(data).series("gpu01", BUSY.id, span(0, 2), 2).mean.tolist() == [1, 2]
    assert len(calls) == 2


def test_files_that_keep_vanishing_are_an_error_and_not_an_endless_search(
    data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = LakeFile("features", "gpu01", span(2, 4), Path("/nonexistent/gone.parquet"))
    monkeypatch.setattr(Lake, "files", lambda *_, **__: [gone])
    with pytest.raises(StorageError, match="keep vanishing"):
        Reader(data).series("gpu01", BUSY.id, span(0, 2), 2)


def test_another_failure_to_read_is_told_in_the_engine_s_words(
    data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> NoReturn:
        raise duckdb.IOException('IO Error: Could not read from file "x": Input/output error')

    monkeypatch.setattr("sql.reader.fetch", fails)
    with pytest.raises(StorageError, match="Input/output error"):
        Reader(data).series("gpu01", BUSY.id, span(0, 2), 2)


def test_a_damaged_file_is_set_aside_and_the_rest_is_shown(data: DataFolder) -> None:
    write(data, 0, {BUSY.id: [1, 2]})
    write(data, 2, {BUSY.id: [3, 4]})
    damaged = Lake(data).files("features")[0].path
    damaged.write_bytes(b"PAR1 not quite PAR1")
    series = Reader(data).series("gpu01", BUSY.id, span(0, 4), 4)
    np.testing.assert_array_equal(series.mean, [np.nan, np.nan, 3, 4])
    assert damaged.with_name(damaged.name + ".bad").exists()


@pytest.mark.parametrize("name", engine.names("queries"))
def test_each_query_says_what_it_takes_and_gives(name: str) -> None:
    text = engine.statement(f"queries/{name}")
    head = text[: text.index(engine.code(text)[:20])]
    for part in ("inputs", "binds", "output", "grain"):
        assert f"-- {part} " in head
    for bound in engine.parameters(text):
        assert f"${bound}" in head
