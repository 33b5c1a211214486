"""Files of named numbers: values are found by name, and noticed when they move."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from ingest.collectors.words import numbers
from ingest.collectors.wordtable import ASSIGNED, FLAT, HEADED, OF_NODE, PAIRS, Format, WordTable
from tests.unit.collectors.trees import write


def positions(form: Format, content: bytes) -> dict[bytes, bytes]:
    words = form.split(content)
    return {name: words[place.value] for name, place in form.places(content).items()}


@pytest.mark.parametrize(
    ("form", "content", "expected"),
    [
        (FLAT, b"a 1\nlonely\nb: 2 kB\n", {b"a": b"1", b"b": b"2"}),
        (OF_NODE, b"Node 0 MemFree:  7 kB\nNode 0\n", {b"MemFree": b"7"}),
        (PAIRS, b"TCP: inuse 1 orphan 0\nUDP: mem\n", {b"TCP.inuse": b"1", b"TCP.orphan": b"0"}),
        (ASSIGNED, b"some avg10=0.10 total=15\n", {b"some.avg10": b"0.10", b"some.total": b"15"}),
        (
            HEADED,
            b"Tcp: In Out\nTcp: 1 -1\n\nUdp: In\nUdp: 3\n",
            {b"Tcp.In": b"1", b"Tcp.Out": b"-1", b"Udp.In": b"3"},
        ),
        (HEADED, b"Tcp: In Out New\nTcp: 1 2\n", {b"Tcp.In": b"1", b"Tcp.Out": b"2"}),
        (HEADED, b"Tcp: 1\n", {}),
        (FLAT, b"", {}),
    ],
)
def test_formats(form: Format, content: bytes, expected: dict[bytes, bytes]) -> None:
    assert positions(form, content) == expected


def test_numbers_that_are_none_are_absent() -> None:
    got = numbers((b"1", b"-2", b"x", b"inf", b"nan", b"9" * 400, b"\xff"))
    np.testing.assert_array_equal(got, [1, -2] + [math.nan] * 5)
    np.testing.assert_array_equal(numbers((b"1e400", b"7")), [math.nan, 7])


class TestWordTable:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return write(tmp_path, {"vmstat": "a 1\nb 2\nc 3\n"}) / "vmstat"

    @pytest.fixture
    def table(self, path: Path) -> WordTable:
        table = WordTable(path, FLAT, [b"c", b"missing", b"a"])
        assert table.open() == (b"c", b"a")
        return table

    def values(self, table: WordTable, path: Path, content: str) -> list[float] | None:
        path.write_text(content)
        out = np.empty(2)
        return out.tolist() if table.read(out) else None

    def test_values_come_in_the_order_asked_for(self, table: WordTable, path: Path) -> None:
        assert self.values(table, path, "a 1\nb 2\nc 3\n") == [3, 1]
        assert self.values(table, path, "a 8\nb 2\nc 9\n") == [9, 8]

    def test_rows_that_move_are_followed(self, table: WordTable, path: Path) -> None:
        assert self.values(table, path, "c 5\nnew 7\nb 2\na 6\n") == [5, 6]
        assert self.values(table, path, "c 50\nnew 7\nb 2\na 60\n") == [50, 60]

    def test_rows_that_change_places_are_not_mistaken(self, table: WordTable, path: Path) -> None:
        assert self.values(table, path, "c 1\nb 2\na 3\n") == [1, 3]

    def test_a_row_that_vanishes_is_absent_until_it_is_back(self, table: WordTable, path: Path) -> None:
        gone = self.values(table, path, "a 4\nb 2\n")
        assert gone is not None
        assert math.isnan(gone[0])
        assert gone[1] == 4
        assert self.values(table, path, "a 4\nb 2\nc 5\n") == [5, 4]

    def test_a_wanted_row_that_appears_asks_for_a_new_layout(self, table: WordTable, path: Path) -> None:
        assert self.values(table, path, "a 1\nb 2\nc 3\nmissing 4\n") is None

    @pytest.mark.parametrize("content", ["", "garbage", "a\nc\n", "a x\nb 2\nc y\n", "\x00" * 50])
    def test_garbage_is_absent(self, table: WordTable, path: Path, content: str) -> None:
        values = self.values(table, path, content)
        assert values is not None
        assert all(map(math.isnan, values))
