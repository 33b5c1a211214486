from __future__ import annotations

import pyarrow as pa
import pytest

from hostsight.errors import StorageError, StoreUnavailableError
from ingest.influx.answer import blocks

TWO = (
    b",result,table,_time,_measurement,device,a,b\r\n"
    b",_result,0,2026-01-31T12:00:00.123456789Z,cpu,cpu0,1.5,\r\n"
    b",_result,1,2026-01-31T12:00:00.1Z,cpu,\"c,1\",-0,3e-45\r\n"
    b"\r\n"
    b",result,table,_time,_measurement,device,c\r\n"
    b",_result,2,2026-01-31T12:00:01Z,network,eth0,2\r\n"
    b"\r\n"
)  # fmt: skip


def pieces(content: bytes, size: int) -> list[bytes]:
    return [content[at : at + size] for at in range(0, len(content), size)]


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_blocks_are_read_with_nanoseconds_and_absent_values_however_they_arrive(size: int) -> None:
    first, second = blocks(pieces(TWO, size))
    assert first["_time"].cast(pa.int64()).to_pylist() == [1769860800123456789, 1769860800100000000]
    assert first["device"].to_pylist() == ["cpu0", "c,1"]
    assert first["b"].to_pylist() == [None, pytest.approx(3e-45, rel=0.5)]
    assert str(first["a"].to_pylist()[1]) == "-0.0"
    assert second["c"].to_pylist() == [2.0]


def test_an_empty_answer_has_no_blocks() -> None:
    assert list(blocks([])) == []
    assert list(blocks([b"\r\n"])) == []


def test_an_answer_that_ends_with_an_error_is_an_error() -> None:
    with pytest.raises(StoreUnavailableError, match="ended its answer with an error: query terminated"):
        list(blocks([TWO, b"error,reference\r\nquery terminated,897\r\n"]))


def test_an_answer_that_is_no_table_is_told() -> None:
    with pytest.raises(StorageError, match="cannot be read"):
        list(blocks([b",result,table,_time,a\r\n,_result,0,2026-01-31T12:00:00Z,text\r\n"]))
