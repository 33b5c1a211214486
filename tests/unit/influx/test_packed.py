"""InfluxQL's answers in MessagePack, as servers of both versions send them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from hostsight.errors import StorageError
from ingest.influx.packed import columns_of, results

T = 1_700_000_000_123_456_789
Row = Sequence[Any]


def message(rows: Sequence[Row], columns: Sequence[str], statement: int = 0, device: str = "eth0") -> bytes:
    series = {"name": "network", "tags": {"device": device}, "columns": ["time", *columns], "values": rows}
    return msgspec.msgpack.encode({"results": [{"statement_id": statement, "series": [series]}]})


def read(rows: Sequence[Row], *columns: str) -> tuple[list[int], dict[str, list[float]]]:
    (result,) = results([message(rows, columns)])
    ts, fields = columns_of(result.series[0])
    return ts.tolist(), {name: values.tolist() for name, values in fields.items()}


@pytest.mark.parametrize("step", [1, 2, 7, 100, 10_000])
def test_messages_are_told_apart_wherever_the_answer_is_cut(step: int) -> None:
    text = b"".join(message([[T, float(n)]], ["a"], n, f"eth{n}") for n in range(3))
    found = list(results(text[at : at + step] for at in range(0, len(text), step)))
    assert [one.statement_id for one in found] == [0, 1, 2]
    assert [one.series[0].tags for one in found] == [{"device": f"eth{n}"} for n in range(3)]
    assert [columns_of(one.series[0])[1]["a"].tolist() for one in found] == [[0.0], [1.0], [2.0]]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slow way is not taken."""
    monkeypatch.setattr("ingest.influx.packed._one_by_one", lambda *_: pytest.fail("read one by one"))


@pytest.mark.usefixtures("at_once")
def test_rows_that_lack_the_same_columns_keep_names_times_and_values() -> None:
    rows = [[T, None, 1.5, None, -2.25], [T + 1, None, 3.0, None, 4.0]]
    assert read(rows, "a", "b", "c", "d") == ([T, T + 1], {"b": [1.5, 3.0], "d": [-2.25, 4.0]})


@pytest.mark.parametrize(
    "rows",
    [
        [[T, 1.0, None], [T + 1, 1.0, 2.0]],  # lengths differ
        [[T, 1.0, None], [T + 1, None, 2.0]],  # lengths agree, kinds do not
        [[T, None, 2.0], [T + 1, 1.0, None], [T + 2, 1.0, 2.0]],
    ],
)
def test_rows_that_lack_different_columns(rows: list[list[float | None]]) -> None:
    ts, fields = read(rows, "a", "b")
    assert ts == [T + number for number in range(len(rows))]
    for index, name in enumerate("ab", 1):
        expected = [np.nan if row[index] is None else row[index] for row in rows]
        np.testing.assert_array_equal(fields[name], expected)


@pytest.mark.usefixtures("at_once")
def test_a_thousand_rows_of_a_hundred_columns_have_longer_headers() -> None:
    numbers = np.random.default_rng(0).normal(size=(700, 100)).astype(np.float32)
    for count in (15, 16, 700):
        rows = [[T + index, *map(float, row)] for index, row in enumerate(numbers[:count])]
        (result,) = results([message(rows, [f"m{number}" for number in range(100)])])
        ts, fields = columns_of(result.series[0])
        assert ts.tolist() == [T + index for index in range(count)]
        assert np.array_equal(np.stack(list(fields.values()), axis=1), numbers[:count])


def test_whole_numbers_of_other_programs_are_values_too() -> None:
    assert read([[T, 7], [T + 1, 2**40]], "a") == ([T, T + 1], {"a": [7.0, 2.0**40]})


def test_times_near_the_epoch_are_shorter_and_read_too() -> None:
    assert read([[5, 1.0], [70_000, 2.0]], "a") == ([5, 70_000], {"a": [1.0, 2.0]})


def test_what_is_beyond_float32_is_infinite() -> None:
    assert read([[T, 1e300]], "a") == ([T], {"a": [np.inf]})
    assert read([[T, 1e300], [T + 1, None]], "a")[1]["a"][0] == np.inf


def test_text_is_no_value() -> None:
    with pytest.raises(StorageError, match="cannot be read"):
        read([[T, "on"]], "a")
    with pytest.raises(StorageError, match="cannot be read"):
        read([[T, True]], "a")


def test_failures_are_told_in_the_servers_words() -> None:
    failed = msgspec.msgpack.encode({"results": [{"error": "database not found: x"}]})
    whole = msgspec.msgpack.encode({"error": "authorization failed"})
    assert [one.error for one in results([failed])] == ["database not found: x"]
    assert [one.error for one in results([whole])] == ["authorization failed"]


def test_an_answer_cut_short_is_not_read_as_a_whole_one() -> None:
    text = message([[T, 1.0], [T + 1, 2.0]], ["a"])
    with pytest.raises(StorageError, match="cannot be read"):
        list(results([text[:-3]]))
    with pytest.raises(StorageError, match="cannot be read"):
        list(results([b"name,tags,time,a\n"]))
