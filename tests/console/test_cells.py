"""Rows of any type as text."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tui.cells import result_of

NOON_NS = 1_800_014_400_000_000_000  # 2027-01-15 12:00:00 UTC


@pytest.mark.parametrize(
    ("values", "kind", "texts"),
    [
        ([NOON_NS, NOON_NS + 120_000_000, None], pa.timestamp("ns"),
         ("2027-01-15 12:00:00", "2027-01-15 12:00:00.12", None)),
        ([NOON_NS + 1], pa.timestamp("ns"), ("2027-01-15 12:00:00.000000001",)),
        ([NOON_NS // 1000], pa.timestamp("us", "UTC"), ("2027-01-15 12:00:00Z",)),
        ([0.1, float("nan"), None], pa.float32(), ("0.1", "nan", None)),
        ([2**63 - 1], pa.int64(), ("9223372036854775807",)),
        ([True, None], pa.bool_(), ("true", None)),
        ([b"\xff\x00", None], pa.binary(), ("ff00", None)),
        ([[1, None], None, []], pa.list_(pa.int64()), ("[1, NULL]", None, "[]")),
        ([[NOON_NS + 1]], pa.list_(pa.timestamp("ns")), ("[2027-01-15 12:00:00.000000001]",)),
        ([{"a": 1, "b": "x"}], pa.struct([("a", pa.int64()), ("b", pa.string())]), ("{a: 1, b: x}",)),
        ([None, None], pa.null(), (None, None)),
    ],
)  # fmt: skip
def test_each_type_has_a_text(values: list[Any], kind: pa.DataType, texts: tuple[str | None, ...]) -> None:
    table = pa.table({"x": pa.array(values, kind)})
    assert result_of(table, truncated=False, seconds=0.0).cells == (texts,)


def test_a_union_shows_what_it_holds() -> None:
    held = pa.array([NOON_NS + 1, None], pa.timestamp("ns"))
    union = pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [held])
    result = result_of(pa.table({"x": union}), truncated=False, seconds=0.0)
    assert result.cells == (("2027-01-15 12:00:00.000000001", None),)


def test_numbers_are_told_from_text() -> None:
    table = pa.table({"n": pa.array([1]), "s": ["1"], "f": [1.5]})
    result = result_of(table, truncated=True, seconds=1.0)
    assert [column.numeric for column in result.columns] == [True, False, True]
    assert (result.rows, result.truncated) == (1, True)


def test_two_columns_of_one_name_are_both_kept() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["n", "n"])
    assert result_of(table, truncated=False, seconds=0.0).cells == (("1",), ("2",))
